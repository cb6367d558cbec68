"""A client of MariaDB, by PyMySQL.

    database_client.py creates | locks | waits SOCKET

creates: makes the table, and waits for a line; locks: changes a row, and commits when it
gets a line; waits: changes the same row.
"""

import sys

import pymysql

from common import finish, ready


def main(does, path):
    connection = pymysql.connect(unix_socket=path, user="root", database="mysql")
    cursor = connection.cursor()
    if does == "creates":
        cursor.execute("create database shop")
        cursor.execute("create table shop.orders (id int primary key, v int) engine=innodb")
        cursor.execute("insert into shop.orders values (1, 1)")
        connection.commit()
    elif does == "locks":
        cursor.execute("update shop.orders set v = 1 where id = 1")
    if does == "waits":
        ready("recv_into", ["recvfrom"], go_on="wait")
        cursor.execute("update shop.orders set v = 2 where id = 1")
    else:
        ready("main", ["read"], go_on="stdin")
        sys.stdin.readline()
    connection.commit()
    finish()


main(*sys.argv[1:])

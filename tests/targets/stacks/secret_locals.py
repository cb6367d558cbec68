"""A function whose local variables are secrets, each in another kind of value."""

import threading

from common import finish, on_sigusr1, ready


class Conf:
    def __init__(self, password):
        self.password = password

    def __repr__(self):
        return "Conf(password=%r, port=1)" % self.password


def connect():
    password = "S3cPlainStrAAAA"
    token = b"S3cBytesTokenAAA"
    secret = bytearray(b"S3cBytearrayAAA")
    client_secret = ("S3cInTupleAAAA", 1)
    passwords = ["S3cInListAAAAAA", ["S3cInNestedAAAA"]]
    db = {"user": "u", "password": b"S3cDictBytesAAA"}
    other = {b"password": "S3cBytesKeyAAAA", "api_key": {"S3cInSetAAAAAAA"}}
    conf = Conf("S3cOfAnObjectAA")
    secret_key = "S3cWith\"quote'AA"
    refresh_token = None
    tokens = [101, 2023]
    ready("connect", ["futex"])
    lock.acquire()
    return (password, token, secret, client_secret, passwords, db, other, conf, secret_key,
            refresh_token, tokens)


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
finish(answer=41, values=len(connect()))

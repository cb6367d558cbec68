"""A shop: two actions, two locks. gunicorn --threads 4 shop:app"""
import threading
import time

stock_lock = threading.Lock()
ledger_lock = threading.Lock()
stock, ledger = {"tea": 9}, []


def query():
    time.sleep(0.2)  # the database


def sell(item):
    with stock_lock:
        stock[item] -= 1
        query()
        with ledger_lock:
            ledger.append("sold " + item)


def refund(item):
    with ledger_lock:
        ledger.append("refund " + item)
        query()
        with stock_lock:
            stock[item] += 1


def app(environ, start_response):
    {"/sell": sell, "/refund": refund}.get(environ["PATH_INFO"], id)("tea")
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done\n"]

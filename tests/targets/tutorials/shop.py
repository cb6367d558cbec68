"""A shop: two actions, two locks. gunicorn --threads 4 shop:app"""
import threading
import time

stock_lock = threading.Lock()
ledger_lock = threading.Lock()
stock, ledger = {"tea": 9}, []


def sell(item):
    with stock_lock:
        stock[item] -= 1
        time.sleep(0.2)  # a query of the database
        with ledger_lock:
            ledger.append("sold " + item)


def refund(item):
    with ledger_lock:
        ledger.append("refund " + item)
        time.sleep(0.2)
        with stock_lock:
            stock[item] += 1


def app(environ, start_response):
    {"/sell": sell, "/refund": refund}[environ["PATH_INFO"]]("tea")
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done\n"]

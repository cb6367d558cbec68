"""Waits in a library, in the way that its first argument names: for a server that takes
connections and answers nothing, or for work. It says {"ready": true}, and is killed."""

import json
import os
import socket
import sys
import threading
import time

folder = sys.argv[2]


def ready():
    line = {"ready": True, "pid": os.getpid(), "tid": os.getpid(),
            "function": "main", "syscalls": [], "go_on": "kill"}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Server:
    """In a process of its own. `answer` is asked for what is sent for each piece that
    comes."""

    def __init__(self, answer=lambda data: b""):
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        parent = os.getpid()
        if os.fork():
            listening.close()
            return
        import ctypes
        import signal
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
        os.close(1)

        def serve(connection):
            while True:
                data = connection.recv(100_000)
                if not data:
                    return
                connection.sendall(answer(data))
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=[connection], daemon=True).start()


def redis_answer(data):
    """Of each command that it may be, but GET and BLPOP."""
    return b"" if b"GET" in data or b"BLPOP" in data else b"+OK\r\n" * data.count(b"*")


def redis_client():
    import redis
    server = Server(redis_answer)
    return redis.Redis(port=server.port, socket_timeout=None, protocol=2)


# ---- servers that do not answer


def redis_get():
    client = redis_client()
    ready()
    client.get("a key")


def redis_blpop():
    client = redis_client()
    ready()
    client.blpop("jobs")


def zmq_socket(kind):
    import zmq
    made = zmq.Context.instance().socket(getattr(zmq, kind))
    made.connect("tcp://127.0.0.1:%d" % Server().port)
    return made


def zmq_asks():
    client = zmq_socket("REQ")
    client.send(b"job?")
    ready()
    client.recv()


def zmq_asks_for_json():
    client = zmq_socket("REQ")
    client.send_json({"job": 1})
    ready()
    client.recv_json()


def zmq_subscribes():
    client = zmq_socket("SUB")
    client.subscribe(b"")
    ready()
    client.recv()


def urllib_request():
    import urllib.request
    url = "http://127.0.0.1:%d/slow?token=hidden" % Server().port
    ready()
    urllib.request.urlopen(url)


def requests_get():
    import requests
    url = "http://ada:hidden@127.0.0.1:%d/slow" % Server().port
    ready()
    requests.get(url)


def httpx_get():
    import httpx
    url = "http://127.0.0.1:%d/slow" % Server().port
    ready()
    httpx.get(url, timeout=None)


def openai_request():
    import openai
    client = openai.OpenAI(base_url="http://127.0.0.1:%d/v1" % Server().port, api_key="none",
                           timeout=None)
    ready()
    client.models.list()


def boto_request():
    import botocore.session
    client = botocore.session.Session().create_client(
        "sqs", region_name="eu-west-1", endpoint_url="http://127.0.0.1:%d" % Server().port,
        aws_access_key_id="none", aws_secret_access_key="none")
    ready()
    client.list_queues()


def smtplib_greeting():
    import smtplib
    port = Server().port
    ready()
    smtplib.SMTP("127.0.0.1", port)


def pymysql_connect():
    import pymysql
    port = Server().port
    ready()
    pymysql.connect(host="127.0.0.1", port=port, connect_timeout=10000)


def psycopg_connect():
    import psycopg
    port = Server().port
    ready()
    psycopg.connect("host=127.0.0.1 port=%d user=ada sslmode=disable" % port)


def paramiko_connect():
    import paramiko
    port = Server().port
    client = paramiko.Transport(("127.0.0.1", port))
    client.banner_timeout = 10000
    ready()
    client.start_client(timeout=10000)


def grpc_call():
    import grpc
    channel = grpc.insecure_channel("127.0.0.1:%d" % Server().port)
    ready()
    channel.unary_unary("/shop.Orders/List")(b"", wait_for_ready=True)


def pymongo_find():
    import pymongo
    client = pymongo.MongoClient("127.0.0.1", Server().port, serverSelectionTimeoutMS=10_000_000)
    ready()
    client.shop.orders.find_one()


def manager_call():
    import multiprocessing
    manager = multiprocessing.Manager()
    queue = manager.Queue()
    ready()
    queue.get()


def pexpect_expect():
    import pexpect
    child = pexpect.spawn("sleep 10000", timeout=None)
    ready()
    child.expect("done")


def pool_of_connections():
    import sqlalchemy
    engine = sqlalchemy.create_engine(
        "sqlite:///" + os.path.join(folder, "db"), poolclass=sqlalchemy.pool.QueuePool,
        pool_size=1, max_overflow=0, pool_timeout=10000)
    connection = engine.connect()
    ready()
    engine.connect()
    connection.close()


def urllib3_pool():
    import urllib3
    pool = urllib3.HTTPConnectionPool("127.0.0.1", Server().port, maxsize=1, block=True)
    threading.Thread(target=pool.request, args=["GET", "/"], daemon=True).start()
    while pool.num_connections < 1:
        time.sleep(0.01)
    time.sleep(0.2)
    ready()
    pool.request("GET", "/second")


def tenacity_retry():
    import tenacity

    @tenacity.retry(wait=tenacity.wait_fixed(10000))
    def fetch():
        if not said:
            said.append(True)
            ready()
        raise OSError
    said = []
    fetch()


# ---- that rest


def apscheduler():
    from apscheduler.schedulers.blocking import BlockingScheduler
    scheduler = BlockingScheduler()
    scheduler.add_job(print, "interval", hours=1)
    ready()
    scheduler.start()


def celery_worker():
    import celery
    app = celery.Celery(broker="memory://")
    ready()
    app.worker_main(["worker", "--pool=solo", "--loglevel=CRITICAL", "--without-mingle",
                     "--without-gossip", "--without-heartbeat"])


def sentry_thread():
    from sentry_sdk.worker import BackgroundWorker
    worker = BackgroundWorker()
    worker.start()
    ready()
    worker._thread.join()


def opentelemetry_thread():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
    TracerProvider().add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
    ready()
    next(one for one in threading.enumerate() if one is not threading.main_thread()).join()


def watchdog_observer():
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer
    observer = Observer()
    observer.schedule(FileSystemEventHandler(), folder)
    observer.start()
    ready()
    observer.join()


def uvicorn_server():
    import uvicorn

    async def app(scope, receive, send):
        pass
    ready()
    uvicorn.run(app, port=0, log_level="critical", lifespan="off")


def waitress_server():
    import waitress
    ready()
    waitress.serve(lambda environ, start: [], listen="127.0.0.1:0")


def twisted_server():
    from twisted.internet import protocol, reactor
    reactor.listenTCP(0, protocol.Factory(), interface="127.0.0.1")
    ready()
    reactor.run()


def tornado_server():
    import tornado.ioloop
    ready()
    tornado.ioloop.IOLoop.current().start()


def trio_sleeps():
    import trio
    ready()
    trio.run(trio.sleep_forever)


def gevent_sleeps():
    import gevent
    ready()
    gevent.sleep(10000)


def gevent_locks():
    """Two greenlets that have each other's locks, beside one with a timer."""
    import gevent
    import gevent.lock

    def takes(first, second):
        first.acquire()
        gevent.sleep(0.1)
        second.acquire()

    def ticks():
        while True:
            gevent.sleep(1)
    one, other = gevent.lock.BoundedSemaphore(1), gevent.lock.BoundedSemaphore(1)
    gevent.spawn(ticks)
    workers = [gevent.spawn(takes, one, other), gevent.spawn(takes, other, one)]
    ready()
    gevent.joinall(workers)


def gevent_server():
    from gevent.pywsgi import WSGIServer
    server = WSGIServer(("127.0.0.1", 0), lambda environ, start: [])
    ready()
    server.serve_forever()


def grpc_aio_server():
    import asyncio

    import grpc.aio

    async def serve():
        server = grpc.aio.server()
        server.add_insecure_port("127.0.0.1:0")
        await server.start()
        ready()
        await server.wait_for_termination()
    asyncio.run(serve())


def anyio_thread():
    """A worker has been handed a function of C, and main joins it."""
    import functools

    import anyio

    async def begin():
        await anyio.to_thread.run_sync(functools.partial(time.sleep, 10000))
    threading.Thread(target=anyio.run, args=[begin], daemon=True).start()
    while not workers():
        time.sleep(0.01)
    ready()
    workers()[0].join()


def workers():
    """Those that have begun: enumerate() knows of them a little before that."""
    return [one for one in threading.enumerate()
            if type(one).__name__ == "WorkerThread" and one.is_alive()]


if __name__ == "__main__":  # and not in a process that multiprocessing starts
    globals()[sys.argv[1]]()

"""Scores requests by a model. gunicorn --preload scores:app"""
import torch

torch.set_num_threads(4)
model = torch.ones(1000, 1000)
model.sum()  # warm up, once for all workers


def app(environ, start_response):
    score = model.sum().item()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d\n" % score]

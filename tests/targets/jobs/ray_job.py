"""Ray's workers as ranks that hang, numbered as Ray Train does it, when they run:
ray_job.py PORT

Rank 2 is in code of its own and the others wait for it in a collective of torch. A
worker that ends is not started again.
"""

import os
import sys
import threading

import ray

RANKS = 4


@ray.remote(num_cpus=0, max_restarts=0)
class Worker:
    def meet(self, **variables):
        os.environ.update(variables)
        import torch

        torch.distributed.init_process_group("gloo")

    def train(self):
        import torch

        if torch.distributed.get_rank() == 2:
            self.load()
        torch.distributed.all_reduce(torch.ones(4))

    def load(self):
        threading.Event().wait()


def main():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
             object_store_memory=80 << 20, _temp_dir=os.environ["TMPDIR"])
    workers = [Worker.remote() for _ in range(RANKS)]
    ray.get([worker.meet.remote(
        RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])
        for rank, worker in enumerate(workers)])
    trained = [worker.train.remote() for worker in workers]
    ray.wait(trained, num_returns=RANKS)


if __name__ == "__main__":
    main()

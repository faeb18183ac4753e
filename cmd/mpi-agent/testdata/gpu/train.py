"""What gpu_test.go starts as ranks: a few training steps on a GPU, or one of the failures that its users meet."""
import datetime
import os
import signal
import sys
import time


def number(*names):
    return next((int(os.environ[name]) for name in names if name in os.environ), 0)


MODE = sys.argv[1]
RANK, WORLD = number("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"), number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE") or 1
LAST = RANK == WORLD - 1
os.environ.update(RANK=str(RANK), WORLD_SIZE=str(WORLD))
if MODE == "no-gpu" and LAST:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
# NCCL takes ranks with different identities for ranks of different machines, so that they may share the one GPU.
os.environ["NCCL_HOSTID"] = "machine" if MODE == "duplicate" else f"machine-{RANK}"

import torch
import torch.distributed as dist

BACKEND, DEVICE, NAME = "nccl", "cuda:0", "cuda"


def join(**options):
    torch.cuda.set_device(0)
    dist.init_process_group(BACKEND, **options)
    together()


def together(times=1):
    """All ranks of the world add something up on their GPUs."""
    for _ in range(times):
        x = torch.ones(1 << 20, device=DEVICE)
        dist.all_reduce(x)
        assert x[-1].item() == WORLD


def steps():
    join()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512)).to(DEVICE))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(RANK)
    x = torch.randn(256, 512, device=DEVICE)
    for _ in range(50):
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"rank {RANK} of {WORLD}: 50 steps on {torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}, NCCL {torch.cuda.nccl.version()}, loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


def through_host():
    """Each rank computes on the GPU, and MPI adds the results up in the memory of the hosts."""
    import numpy
    from mpi4py import MPI
    mine = (torch.ones(64, 64, device=DEVICE) @ torch.ones(64, 64, device=DEVICE)).cpu().numpy()
    total = numpy.empty_like(mine)
    MPI.COMM_WORLD.Allreduce(mine, total)
    assert total[0, 0] == 64 * WORLD
    print(f"rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}: added up by {MPI.Get_library_version().splitlines()[0]}", flush=True)


def out_of_memory():
    join()
    if LAST:
        torch.empty(torch.cuda.get_device_properties(0).total_memory * 2, dtype=torch.uint8, device=DEVICE)
    together()


def duplicate():
    join()


def no_gpu():
    if LAST:
        torch.ones(1, device=NAME)
    join()


def no_gpu_for_nccl():
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    dist.init_process_group(BACKEND)


def ordinal():
    if LAST:
        torch.cuda.set_device(1)
    join()


def device_assert():
    join()
    if LAST:
        table = torch.nn.Embedding(10, 4).to(DEVICE)
        print(table(torch.tensor([3, 11], device=DEVICE)).sum().item())
    together()


def illegal_address():
    join()
    if LAST:
        import cupy
        kernel = cupy.RawKernel('extern "C" __global__ void wild(float *p) { p[1LL << 40] = 1; }', "wild")
        kernel((1,), (1,), (cupy.zeros(1, dtype=cupy.float32),))
        torch.cuda.synchronize()
    together()


def killed():
    join()
    together(10)
    if LAST:
        os.kill(os.getpid(), signal.SIGKILL)
    together()


def leaves():
    join()
    if LAST:
        os._exit(7)
    together()


def late():
    join(timeout=datetime.timedelta(seconds=8))
    if LAST:
        time.sleep(40)
    together()


def hang():
    join()
    if LAST:
        time.sleep(600)
    together()


def cupy_out_of_memory():
    import cupy
    if LAST:
        cupy.empty(1 << 40, dtype=cupy.uint8)
    time.sleep(15)


def jax_out_of_memory():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if LAST:
        import jax.numpy
        print(jax.numpy.ones((1 << 20, 1 << 20), dtype=jax.numpy.float32).sum())
    time.sleep(15)


def step_times():
    """Prints the median of many short steps, of which each waits for the processor more than for the GPU, and of some long ones."""
    for width, batch, count in ((256, 64, 1500), (4096, 8192, 25)):
        model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(8)]).to(DEVICE)
        optimizer = torch.optim.AdamW(model.parameters())
        x, times = torch.randn(batch, width, device=DEVICE), []
        for _ in range(count):
            began = time.perf_counter()
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
        times = sorted(times[count // 10:])
        print(f"median of {len(times)} steps of width {width}: {times[len(times) // 2] * 1000:.4f} ms", flush=True)


globals()[MODE.replace("-", "_")]()

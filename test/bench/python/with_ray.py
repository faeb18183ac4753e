import time

from ray.job_submission import JobStatus, JobSubmissionClient

client = JobSubmissionClient("http://127.0.0.1:8265")


def wait(name):
    while client.get_job_status(name) not in (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED):
        time.sleep(1)
    return client.get_job_info(name)


rank = "import sys, ray\n@ray.remote\ndef rank(r, bad):\n    print('rank', r)\n    r == bad and sys.exit(7)\n"
run = rank + "ray.get([rank.remote(r, int(sys.argv[1])) for r in range(4)])"
name = client.submit_job(entrypoint=f'python -c "{run}" -1')
wait(name)
print(client.get_job_logs(name))
name = client.submit_job(entrypoint=f'python -c "{run}" 2')
print("TOLD", wait(name).message)

"""A server that answers one row at a time, as the baseline of serve.py: `serve_one_row.py MODEL STORE`.

It has the same web framework, requests, responses, learner and store as `tam serve`, and a thread per
request; it only lacks batching.
"""

import socket
import sys
import threading

import uvicorn
from fastapi import Body, FastAPI, Response

import tam
from tam.io import json_text
from tam.serve import schema

learner = tam.load(sys.argv[1])
store = tam.Store(sys.argv[2], learner)
alone = threading.Lock()
app = FastAPI()


def answer(row: schema.Row) -> dict[str, object]:
    rule = store.embeddings([row.task])[row.task]
    with alone:
        (found,) = learner.predict_proba(rule, [row.x])
    best = max(found, key=lambda label: found[label])
    return {"answer": best, "probability": found[best], "others": []}


@app.post("/predict")
def predict(asked: schema.Rows = Body()) -> Response:  # noqa: B008
    return Response(json_text({"rows": [answer(row) for row in asked.rows]}), media_type="application/json")


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        print(f"serving on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])

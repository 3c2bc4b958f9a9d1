// Requests to the server that the page came from.

export class Problem extends Error {}

async function token() {
  const dialog = document.getElementById("login");
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  sessionStorage.setItem("token", dialog.querySelector("input").value);
}

export async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const known = sessionStorage.getItem("token");
  if (known) headers.Authorization = `Bearer ${known}`;
  let response;
  try {
    response = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  } catch {
    throw new Problem("The server does not answer. Is it still running?");
  }
  if (response.status === 401) {
    await token();
    return ask(path, body);
  }
  const found = await response.json();
  if (!response.ok) throw new Problem(found.error);
  return found;
}

export const query = (path, values) => `${path}?${new URLSearchParams(values)}`;

/** Run one call at a time: meanwhile the newest waits, and those in between are dropped. */
export function newest(work) {
  let busy = false, next = null;
  return async function run(...values) {
    if (busy) {
      next = values;
      return;
    }
    busy = true;
    try {
      await work(...values);
    } finally {
      busy = false;
      if (next) {
        const then = next;
        next = null;
        run(...then);
      }
    }
  };
}

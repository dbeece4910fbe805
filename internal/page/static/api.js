// Requests to the page's own server. Where it wants a token, that comes from the address (#token=…, which is taken out of
// it at once) or from whoever looks; it is kept for this tab alone.

const key = "rivulet-page-token";

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem(key, given);
  history.replaceState(null, "", location.pathname + location.search);
}

export const setToken = (token) => sessionStorage.setItem(key, token);

// Refused is an answer that is no success, with the server's reason and detail.
export class Refused extends Error {
  constructor(status, reason, detail) {
    super(detail);
    this.status = status;
    this.reason = reason;
  }
}

async function ask(path, options) {
  const headers = { ...(options.headers ?? {}) };
  const token = sessionStorage.getItem(key);
  if (token) headers.Authorization = "Bearer " + token;
  const limit = AbortSignal.timeout(15_000);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  const response = await fetch(path, { ...options, headers, signal, cache: "no-store" });
  let body = null;
  try {
    body = await response.json();
  } catch {
    throw new Refused(response.status, "answer", "the answer is not JSON");
  }
  if (!response.ok) throw new Refused(response.status, body.error?.reason ?? "", body.error?.detail ?? response.statusText);
  return body;
}

export const get = (path, signal) => ask(path, { signal });

export const post = (path, body, signal) =>
  ask(path, { method: "POST", body, signal, headers: { "Content-Type": "application/json" } });

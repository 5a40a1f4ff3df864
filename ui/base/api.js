// Questions to the server that served this page; every path is relative, so the word in the address goes along.

/** A question that was not answered, in words for the user. */
export class Refused extends Error {
  /**
   * @param {string} words
   * @param {number} status that of HTTP, or 0 without an answer
   */
  constructor(words, status) {
    super(words);
    this.status = status;
  }
}

/**
 * @param {string} path
 * @param {Record<string, string | number>} [about]
 * @param {AbortSignal} [signal]
 */
async function ask(path, about = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(about).map(([name, value]) => [name, String(value)]));
  return answered(path, () => fetch(`api/${path}?${query}`, { signal: signal ?? null }), signal);
}

/**
 * @param {string} path
 * @param {() => Promise<Response>} send
 * @param {AbortSignal} [signal]
 */
async function answered(path, send, signal = undefined) {
  let answer;
  try {
    answer = await send();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused("hemiola no longer answers: has the command of this page been ended?", 0);
  }
  if (!answer.ok) {
    const words = await answer.json().catch(() => ({}));
    throw new Refused(words.error ?? `${path}: ${answer.status} ${answer.statusText}`, answer.status);
  }
  return answer;
}

/**
 * Sends something to be judged.
 * @param {string} path
 * @param {unknown} what
 * @returns {Promise<any>}
 */
export async function post(path, what) {
  const headers = { "content-type": "application/json" };
  const send = () => fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(what) });
  return (await answered(path, send)).json();
}

/**
 * @param {string} path
 * @param {Record<string, string | number>} [about]
 * @returns {Promise<any>}
 */
export async function json(path, about) {
  return (await ask(path, about)).json();
}

/**
 * @param {string} path
 * @param {Record<string, string | number>} [about]
 */
export async function text(path, about) {
  return (await ask(path, about)).text();
}

/**
 * @param {string} path
 * @param {Record<string, string | number>} about
 */
export async function bytes(path, about) {
  return (await ask(path, about)).arrayBuffer();
}

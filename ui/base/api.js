// Questions to the server that served this page; every path is relative, so the word in the address goes along.

/** A question that was not answered, in words for the user. */
export class Refused extends Error {}

/**
 * @param {string} path
 * @param {Record<string, string | number>} [about]
 * @param {AbortSignal} [signal]
 */
async function ask(path, about = {}, signal = undefined) {
  const query = new URLSearchParams(Object.entries(about).map(([name, value]) => [name, String(value)]));
  let answer;
  try {
    answer = await fetch(`api/${path}?${query}`, { signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused("hemiola view no longer answers: has it been ended?");
  }
  if (!answer.ok) {
    const words = await answer.json().catch(() => ({}));
    throw new Refused(words.error ?? `${path}: ${answer.status}`);
  }
  return answer;
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

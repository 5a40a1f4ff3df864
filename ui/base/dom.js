// Elements in few words.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [properties] attributes; `on…` are listeners, `text` is the content
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/**
 * The element of that id; the page has it.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function the(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

let announced = 0;

/**
 * Says something to those who do not see the picture.
 * @param {string} words
 */
export function say(words) {
  clearTimeout(announced);
  // Only the last of many in a row is worth reading out.
  announced = window.setTimeout(() => (the("said").textContent = words), 250);
}

/**
 * Paths of files as policies compare them. A policy sees a text and no file system, so what only a file system, a shell or
 * a decoder knows is not guessed: such a path is unknown, and a rule about it fails closed. Symbolic links are the caller's
 * to resolve. Proven by `test/core/policies/tool-text/path.test.ts`.
 */

/**
 * Returns a path without `.`, `..`, empty parts and backslashes: `/a/./b//../c` becomes `/a/c`. A relative path keeps the
 * `..` at its beginning. Null if the text is no plain path: `~`, `$HOME`, `{a,b}` and `%2e` mean something else to those who expand
 * or decode them, and control characters end a path early.
 */
export function plainPath(text: string): string | null {
  if (text === '' || /^~|[\p{Cc}$`]|\{.*(?:,|\.\.).*\}|%(?:25)*(?:2[ef]|5c|00)/iu.test(text)) return null;
  if (text.includes('/') && text.includes('\\')) return null; // two folders on Windows, one on other systems
  const slashes = text.replaceAll('\\', '/');
  if (/^[a-z][a-z0-9+.-]+:/i.test(slashes)) return null; // a URL
  const isAbsolute = slashes.startsWith('/');
  const kept: string[] = [];
  for (const part of slashes.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (!isAbsolute) kept.push(part);
  }
  const joined = kept.join('/');
  return isAbsolute ? `/${joined}` : joined === '' ? '.' : joined;
}

/**
 * Returns whether a plain path is a folder or lies below it; both are results of `plainPath`. Null if that depends on the
 * current folder: one of them is relative and the other is not, or the path leaves the folder that it is relative to.
 */
export function isWithin(path: string, folder: string): boolean | null {
  const leaves = (each: string): boolean => each === '..' || each.startsWith('../');
  if (path.startsWith('/') !== folder.startsWith('/') || leaves(path) !== leaves(folder)) return null;
  if (leaves(path)) return path === folder || path.startsWith(`${folder}/`) ? true : null;
  if (folder === '/' || folder === '.') return true;
  return path === folder || path.startsWith(`${folder}/`);
}

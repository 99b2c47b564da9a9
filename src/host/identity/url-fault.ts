import { isLoopback } from '../../client/proxy.ts';

/** Returns what is wrong with a URL, or null. Keys must not cross a network in clear. */
export function urlFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe =
    url?.protocol === 'https:' ||
    (url?.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')));
  if (url !== null && isSafe && url.username === '' && url.search === '' && url.hash === '') return null;
  return `expected an https URL (http on loopback) without user, query and fragment, got ${text}`;
}

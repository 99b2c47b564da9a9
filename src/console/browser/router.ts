/**
 * The address of a page is the fragment of the URL, such as `#/approvals/apr_…?status=pending`: it works below any base
 * path and needs no rule in a proxy. Tested by `test/console/router.test.ts`.
 */
import { useEffect, useState } from 'preact/hooks';

/** A page of the console, as its address names it. An attacker may write any address into a link. */
export interface PageAddress {
  /** Decoded segments: `['approvals', 'apr_…']`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

/** Reads a fragment. A segment that is no valid percent-encoding stays as it is. */
export function readPlace(hash: string): PageAddress {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const segments = path.split('/').filter((segment) => segment !== '');
  return { segments: segments.map(decoded), query: new URLSearchParams(query) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

type QueryValue = string | number | boolean | null | undefined;

/** The address of a page: `linkTo(['runs', runId], { tab: 'graph' })`. Leaves out empty values of the query. */
export function linkTo(
  segments: readonly string[],
  query: Readonly<Record<string, QueryValue>> = {},
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const path = `#/${segments.map(encodeURIComponent).join('/')}`;
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Goes to a page. `replace`: without an entry in the history, as for a filter that changes with every key. */
export function goTo(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) {
    history.replaceState(null, '', address);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else location.hash = address;
}

/** The parameters of a path such as `/approvals/:approvalId`, or null where the segments do not match it. */
export function matchPath(
  path: string,
  segments: readonly string[],
): Readonly<Record<string, string>> | null {
  const wanted = path.split('/').filter((segment) => segment !== '');
  if (wanted.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    const name = wanted[at] ?? '';
    if (name.startsWith(':')) params[name.slice(1)] = segment;
    else if (name !== segment) return null;
  }
  return params;
}

/** The place that the address names now; renders again when it changes. */
export function usePlace(): PageAddress {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return readPlace(hash);
}

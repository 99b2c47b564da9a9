/**
 * The pages of the console: each is one line here, and gets the parameters of its path. Tested by
 * `test/console/accessible.test.ts`, which opens every page.
 */
import { Empty } from '../parts/empty.tsx';
import { Home } from '../home/page.tsx';
import type { ConsolePage, PageProps } from './page.ts';
import { matchPath, type Place } from './router.ts';

export const pages: readonly ConsolePage[] = [{ path: '/', title: 'Home', component: Home, nav: 'Home' }];

/** The page of an address with its parameters; null for an unknown one. */
export function findPage({
  segments,
}: Place): { readonly page: ConsolePage; readonly params: PageProps['params'] } | null {
  for (const page of pages) {
    const params = matchPath(page.path, segments);
    if (params !== null) return { page, params };
  }
  return null;
}

export const NotFound = () => (
  <Empty title="This page does not exist" action={<a href="#/">Go to the start page</a>}>
    The address may be incomplete.
  </Empty>
);

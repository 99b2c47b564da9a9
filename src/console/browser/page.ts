/** A page of the console, as `pages.tsx` lists it. */
import type { ComponentType } from 'preact';

export interface PageProps {
  /** By the names in the path: `/runs/:runId` gives `params.runId`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

export interface ConsolePage {
  readonly path: string;
  /** In the window's title. */
  readonly title: string;
  readonly component: ComponentType<PageProps>;
  /** Its name in the navigation, in the order of the list; absent for pages that others link to. */
  readonly nav?: string;
  /** Whether only a service has it: a plane has one project, and no data planes. */
  readonly isHosted?: boolean;
}

import type { ComponentChildren } from 'preact';
import { linkTo } from '../browser/router.ts';
import { RemoteLine } from './remote-text.tsx';

export interface PageHeadProps {
  /** A text may be one that others wrote. */
  readonly title: ComponentChildren;
  /** A line about the page. */
  readonly children?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** The list that the page belongs to. */
  readonly up?: { readonly name: string; readonly path: readonly string[] };
}

/** The head of every page: its title, a line about it, and its actions. */
export const PageHead = ({ title, children, actions, up }: PageHeadProps) => (
  <div class="page-head">
    <div>
      {up !== undefined && (
        <a class="up" href={linkTo(up.path)}>
          {up.name}
        </a>
      )}
      <h1>{typeof title === 'string' ? <RemoteLine text={title} /> : title}</h1>
      {children !== undefined && <p class="quiet">{children}</p>}
    </div>
    {actions !== undefined && <div class="actions">{actions}</div>}
  </div>
);

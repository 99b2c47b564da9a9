import type { ComponentChildren } from 'preact';

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** The text of a list without rows: why it is empty, and what to do. */
export const Empty = ({ title, children, action }: EmptyProps) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children !== undefined && <p class="quiet">{children}</p>}
    {action}
  </div>
);

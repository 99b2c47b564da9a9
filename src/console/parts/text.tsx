import { visibleJson, visibleText } from '../../core/visible.ts';

/** Text that an agent or its user wrote: control characters are shown, and it cannot reorder the text beside it. */
export const Text = ({ children }: { readonly children: string }) => <bdi>{visibleText(children)}</bdi>;

/** A JSON value in full, in a frame that scrolls. `label`: for screen readers. */
export const Json = ({ value, label }: { readonly value: unknown; readonly label: string }) => (
  <pre class="code json" tabIndex={0} role="region" aria-label={label}>
    {visibleJson(value, 2)}
  </pre>
);

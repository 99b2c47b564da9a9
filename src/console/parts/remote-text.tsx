/**
 * Text that others wrote: agents, their users, clients. It is shown as text only. Characters that hide or reorder text
 * appear as `\u202e`, and a long text is cut until the reader asks for all of it. Tested by
 * `test/console/hostile-runs.test.ts`.
 */
import { useState } from 'preact/hooks';
import { visible } from '../../core/forward/text.ts';
import { Button } from './button.tsx';

/** One line. */
export const RemoteLine = ({ text }: { readonly text: string }) => <bdi>{visible(text)}</bdi>;

/** Characters of a long text that are shown at first. */
const firstChars = 2000;

/** Lines, as they were written. */
export function RemoteText({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > firstChars;
  const shown = isLong && !isWhole ? text.slice(0, firstChars) : text;
  return (
    <div class="remote">
      <pre class="code" dir="auto" tabIndex={0}>
        {shown.split('\n').map(visible).join('\n')}
        {isLong && !isWhole && '…'}
      </pre>
      {isLong && (
        <Button kind="quiet" onClick={() => setWhole(!isWhole)} aria-expanded={isWhole}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </Button>
      )}
    </div>
  );
}

/** A value of JSON, as indented text. */
export const RemoteJson = ({ value }: { readonly value: unknown }) => (
  <RemoteText text={typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'null')} />
);

/**
 * Text that others wrote: agents, their users, clients. It is shown as text only. Characters that hide or reorder text
 * appear as `\u202e`, and a long text is cut until the reader asks for all of it. Tested by
 * `test/console/hostile.test.ts` and `test/console/hostile-runs.long.test.ts`.
 */
import { useState } from 'preact/hooks';
import { visibleJson, visibleLine, visibleText } from '../../core/visible.ts';
import { Button } from './button.tsx';

/** One line. It cannot reorder the text beside it. */
export const RemoteLine = ({ text }: { readonly text: string }) => <bdi>{visibleLine(text)}</bdi>;

/** Characters of a long text that are shown at first. */
const firstChars = 2000;

interface RemoteTextProps {
  readonly text: string;
  /** For screen readers. */
  readonly label?: string;
  /** Shows all of it from the start: a person decides by it. */
  readonly whole?: boolean;
}

/** Lines, as they were written, in a frame that scrolls. */
export function RemoteText({ text, label, whole = false }: RemoteTextProps) {
  const [isWhole, setWhole] = useState(whole);
  const isLong = text.length > firstChars;
  const shown = isLong && !isWhole ? text.slice(0, firstChars) : text;
  const named = label === undefined ? {} : ({ role: 'region', 'aria-label': label } as const);
  return (
    <div class="remote">
      <pre class="code" dir="auto" tabIndex={0} {...named}>
        {visibleText(shown)}
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
export const RemoteJson = ({
  value,
  ...props
}: { readonly value: unknown } & Omit<RemoteTextProps, 'text'>) => (
  <RemoteText text={typeof value === 'string' ? value : visibleJson(value, 2)} {...props} />
);

/** A list of the API that comes in pages, and the line below it that says whether it is whole. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useBack } from '../app/connection.tsx';
import { Button } from './button.tsx';
import { ErrorBox } from './error-box.tsx';

interface Page<Row> {
  readonly data: readonly Row[];
  readonly nextCursor: string | null;
}

export interface Paged<Row> {
  /** Undefined until the first page is there. */
  readonly rows: readonly Row[] | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly isCut: boolean;
  more(): void;
  /** Starts again with the first page. */
  reload(): void;
}

interface State<Row> {
  readonly key: string;
  readonly rows: readonly Row[] | undefined;
  readonly cursor: string | null;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** `load` gets the cursor of a page, undefined for the first. `key` names everything that it depends on. */
export function usePaged<Row>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>,
  key: string,
): Paged<Row> {
  const start: State<Row> = { key, rows: undefined, cursor: null, error: null, isLoading: true };
  const [state, setState] = useState(start);
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const stop = useRef(new AbortController());
  const read = useCallback(
    async (before: readonly Row[], cursor: string | undefined): Promise<void> => {
      const { signal } = stop.current;
      try {
        const { data, nextCursor } = await latest.current(cursor, signal);
        if (signal.aborted) return;
        setState({ key, rows: [...before, ...data], cursor: nextCursor, error: null, isLoading: false });
      } catch (error) {
        if (signal.aborted) return;
        // rows of another filter are not rows of this one
        setState((last) => ({ ...(last.key === key ? last : start), key, error, isLoading: false }));
      }
    },
    [key],
  );
  useEffect(() => {
    stop.current = new AbortController();
    void read([], undefined);
    return () => stop.current.abort();
  }, [read, round]);
  const current = state.key === key ? state : start;
  const { rows, cursor, error, isLoading } = current;
  const reload = (): void => setRound((last) => last + 1);
  const more = (): void => {
    if (cursor === null || isLoading) return;
    setState({ ...current, isLoading: true });
    void read(rows ?? [], cursor);
  };
  useBack(() => {
    if (error === null) return;
    if (cursor === null) reload();
    else more();
  });
  return { rows, error, isLoading, isCut: cursor !== null, more, reload };
}

interface PagedFootProps {
  readonly paged: Paged<unknown>;
  /** In the plural: `runs`. */
  readonly noun: string;
}

/** How many rows there are, whether there are more, and the button for them. */
export function PagedFoot({ paged, noun }: PagedFootProps) {
  const { rows, error, isLoading, isCut, more, reload } = paged;
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (rows === undefined || (rows.length === 0 && !isCut)) return null;
  return (
    <div class="paged-foot">
      <p class="quiet" role="status">
        {lineOf(rows.length, noun, isCut)}
      </p>
      {isCut && (
        <Button onClick={more} isBusy={isLoading}>
          Show more
        </Button>
      )}
    </div>
  );
}

function lineOf(count: number, noun: string, isCut: boolean): string {
  if (isCut) return `The first ${count} ${noun}; there are more.`;
  return count === 1 ? 'There are no more.' : `All ${count} ${noun}.`;
}

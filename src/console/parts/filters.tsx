/** Filters of a list, kept in the address: a link to a list shows the same rows. */
import { useEffect, useState } from 'preact/hooks';
import { goTo, linkTo } from '../browser/router.ts';

export interface Filter {
  /** In the query of the address. */
  readonly name: string;
  readonly label: string;
  /** Choices; absent: any text. The first one, with the value '', is no filter. */
  readonly options?: readonly { readonly value: string; readonly text: string }[];
  readonly placeholder?: string;
}

/** A choice of each word, or of any. */
export const anyOf = (words: readonly string[]): NonNullable<Filter['options']> => [
  { value: '', text: 'Any' },
  ...words.map((word) => ({ value: word, text: word })),
];

interface FiltersProps {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly filters: readonly Filter[];
}

export function Filters({ path, query, filters }: FiltersProps) {
  const set = (name: string, value: string): void => {
    const kept = Object.fromEntries(query);
    goTo(linkTo(path, { ...kept, [name]: value.trim() }), { replace: true });
  };
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {filters.map((filter) => (
        <label key={filter.name} class="field">
          {filter.label}
          {filter.options === undefined ? (
            <TextFilter filter={filter} value={query.get(filter.name) ?? ''} set={set} />
          ) : (
            <select
              name={filter.name}
              value={query.get(filter.name) ?? ''}
              onChange={(event) => set(filter.name, event.currentTarget.value)}
            >
              {filter.options.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </label>
      ))}
    </form>
  );
}

interface TextFilterProps {
  readonly filter: Filter;
  readonly value: string;
  readonly set: (name: string, value: string) => void;
}

/** Sets the filter a moment after the last key. */
function TextFilter({ filter: { name, placeholder = '' }, value, set }: TextFilterProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => set(name, text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      type="search"
      name={name}
      value={text}
      placeholder={placeholder}
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

/** Periods that lists can be cut to. */
export const periods = [
  { value: '', text: 'Any time' },
  { value: '1', text: 'Last 24 hours' },
  { value: '7', text: 'Last 7 days' },
  { value: '30', text: 'Last 30 days' },
  { value: '90', text: 'Last 90 days' },
] as const;

/** The start of a period that a filter names in days; undefined for none, and for a text that is no number. */
export function startOf(days: string | null): string | undefined {
  const count = Number(days ?? '');
  if (!Number.isInteger(count) || count < 1 || count > 3660) return undefined;
  // to the minute, so that the same list is asked for again
  const minute = 60_000;
  return new Date(Math.floor(Date.now() / minute) * minute - count * 86_400_000).toISOString();
}

import { useEffect, useState } from 'preact/hooks';

const formatDate = new Intl.DateTimeFormat('en-GB', {
  day: '2-digit',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

const units = [
  ['s', 60],
  ['min', 60],
  ['h', 24],
  ['d', Number.POSITIVE_INFINITY],
] as const;

/** `just now`, `5 min ago`, `in 3 h`: one unit, rounded down. */
export function relativeTime(atMs: number, nowMs: number): string {
  const text = durationText(Math.abs(nowMs - atMs));
  if (text === '0 s') return 'just now';
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

/** `42 s`, `5 min`, `3 h`, `12 d`: one unit, rounded down. */
export function durationText(ms: number): string {
  let value = Math.floor(ms / 1000);
  for (const [unit, size] of units) {
    if (value < size) return `${value} ${unit}`;
    value = Math.floor(value / size);
  }
  return '';
}

/** The browser's time; renders again every `everyMs`. */
export function useNow(everyMs: number): number {
  const [nowMs, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}

/** A time of the API (RFC 3339): how long ago, and in full as a tooltip. `exact`: in full. */
export function Time({ at, exact = false }: { readonly at: string; readonly exact?: boolean }) {
  const nowMs = useNow(10_000);
  const atMs = Date.parse(at);
  if (Number.isNaN(atMs)) return <>{at}</>;
  const full = formatDate.format(atMs);
  return (
    <time dateTime={at} title={exact ? relativeTime(atMs, nowMs) : full}>
      {exact ? full : relativeTime(atMs, nowMs)}
    </time>
  );
}

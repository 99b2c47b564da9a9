import { useEffect, useState } from 'preact/hooks';
import { aboutDuration } from '../../core/duration.ts';

const formatDate = new Intl.DateTimeFormat('en-GB', {
  day: '2-digit',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

/** `5 min ago`; `in 3 h` for a time that may lie ahead. A recorded time is never ahead, whatever the clock of the page says. */
export function relativeTime(atMs: number, nowMs: number, isAhead = false): string {
  const leftMs = atMs - nowMs;
  if (Math.abs(leftMs) < 1000 || (leftMs > 0 && !isAhead)) return 'just now';
  return leftMs > 0 ? `in ${aboutDuration(leftMs)}` : `${aboutDuration(-leftMs)} ago`;
}

/** The browser's time at this rendering, and again every `everyMs`. A time that was kept would lie before what is shown. */
function useNow(everyMs: number): number {
  const [, render] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => render((count) => count + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return Date.now();
}

interface TimeProps {
  readonly at: string;
  /** In full. */
  readonly exact?: boolean;
  /** It may lie ahead: an expiry, or when something is due. */
  readonly ahead?: boolean;
}

/** A time of the API (RFC 3339): how long ago, and in full as a tooltip. */
export function Time({ at, exact = false, ahead = false }: TimeProps) {
  const nowMs = useNow(10_000);
  const atMs = Date.parse(at);
  if (Number.isNaN(atMs)) return <>{at}</>;
  const full = formatDate.format(atMs);
  const about = relativeTime(atMs, nowMs, ahead);
  return (
    <time dateTime={at} title={exact ? about : full}>
      {exact ? full : about}
    </time>
  );
}

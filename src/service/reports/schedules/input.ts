/** The report that a schedule asks for at one of its due times. Proven by `test/service/reports/schedules/due.long.test.ts`. */
import type { ExecutionInput } from '../../../contract/reports.ts';
import { periodOf } from '../../../core/schedules/window.ts';
import { formatTimestamp } from '../../../core/time.ts';
import { opened } from '../deliveries/document.ts';
import type { Seal } from '../../call/secrets.ts';
import type { StoredSchedule } from './stored.ts';

/** The end of a period is inclusive (contract L3). Receivers that are gone are left out. */
export function inputOf(stored: StoredSchedule, dueMs: number, seal: Seal): ExecutionInput {
  const { reportTemplateId, window, timezone, locale, formats, title, runId, deliveries } = stored;
  const { startMs, endMs } = periodOf(window, dueMs, timezone);
  return {
    reportTemplateId,
    formats: [...formats],
    timezone,
    locale,
    parameters: {
      startTime: formatTimestamp(startMs),
      endTime: formatTimestamp(endMs - 1),
      ...(runId === null ? {} : { runId }),
    },
    ...(title === null ? {} : { title }),
    deliveries: deliveries
      .filter(({ disabledMs }) => disabledMs === null)
      .map(({ disabledMs: _at, ...each }) => opened(each, seal)),
  };
}

/**
 * System events of schedules (contract O8): who decides which report is made when, and where it goes. Proven by
 * `test/service/reports/schedules/handlers.test.ts`.
 */
import type { EventDraft } from '../../../core/events/record.ts';
import { maskedTarget } from '../../outbox/masked.ts';
import { systemEvent } from '../../writes/system.ts';
import type { StoredSchedule } from './stored.ts';

const actions = { created: 'create', updated: 'update', deleted: 'delete' } as const;

export const scheduleChanged = (
  change: {
    readonly what: keyof typeof actions;
    readonly scheduleId: string;
    readonly stored: StoredSchedule;
    readonly isEnabled: boolean;
  },
  context: {
    readonly nowMs: number;
    readonly salt: () => string;
    readonly by: { readonly id: string; readonly type: string };
  },
): EventDraft => {
  const { what, scheduleId, stored, isEnabled } = change;
  const { name, reportTemplateId, window, cron, timezone, formats, runId, deliveries } = stored;
  const { nowMs, salt, by } = context;
  return systemEvent(
    {
      eventType: `report_schedule.${what}`,
      action: actions[what],
      actor: { id: by.id, type: by.type },
      resource: { id: scheduleId, type: 'report_schedule' },
      metadata: {
        name,
        reportTemplateId,
        window,
        cron,
        timezone,
        formats: [...formats],
        runId,
        enabled: isEnabled,
        deliveries: deliveries.map(({ channel, target, format }) => ({
          channel,
          target: maskedTarget(channel, target),
          format,
        })),
      },
    },
    { nowMs, salt },
  );
};

/**
 * What a project used of its quotas, and at which percentages it is told (contract I7-I10). The counters are the running
 * totals of the metering log, and what its data planes reported, which is counted and never refused. Proven by `test/service/access/metering.test.ts`.
 */
import type { Usage } from '../../contract/metering.ts';
import { meteredTypes } from '../../contract/operation.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Handlers } from '../call/handler.ts';
import { endOfMonth, monthOf } from './month.ts';
import { monthUsage } from './month-usage.ts';
import { projectUpdated } from './project-events.ts';
import { fieldError } from '../call/schema.ts';
import { settingsChange, settingsOf } from '../call/settings.ts';
import { changeProject, livingProject } from './tenant-change.ts';

export const metering: Pick<Handlers, 'getUsage' | 'getThresholds' | 'putThresholds'> = {
  /** Of a month that is over, too, beside the quotas of today. */
  async getUsage({ query, caller }, { store, now }) {
    const period = query.period ?? monthOf(now());
    const resetAt = formatTimestamp(endOfMonth(checkedMonth(period)));
    const { projectId } = caller.project;
    const { reported, used: all } = await monthUsage(store, projectId, period);
    const items = meteredTypes.map((type): Usage['items'][number] => {
      const limit = caller.rules.quotas[type];
      const used = all[type];
      const remaining = limit === null ? null : Math.max(0, limit - used);
      return { type, used, hybrid: reported[type], limit, remaining, resetAt };
    });
    return { status: 200, body: { period, items } };
  },

  async getThresholds({ caller }, services) {
    const { thresholds } = settingsOf(await livingProject(services, caller));
    return { status: 200, body: { percents: [...thresholds] } };
  },

  async putThresholds({ body, caller }, services) {
    await changeProject(services, { caller, scope: 'projects:write' }, (stored, nowMs) => {
      const { changes, text } = settingsChange(stored, { thresholds: body.percents });
      if (Object.keys(changes).length === 0) return null;
      return {
        effect: { settings: text },
        event: () => projectUpdated(stored, { nowMs, salt: services.salt, by: caller }, { changes, text }),
      };
    });
    return { status: 200, body };
  },
};

/** The month that follows must be one that can be written as a time. */
function checkedMonth(period: string): string {
  const year = Number(period.slice(0, 4));
  if (year >= 2000 && year <= 9998) return period;
  const detail = `expected a month of the years 2000 to 9998, such as 2026-11, got ${period}`;
  throw fieldError({ pointer: '/period', in: 'query', code: 'NOT_ALLOWED', detail });
}

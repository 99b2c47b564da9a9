/**
 * Handlers of metering (contract I7-I10): a project's use of its quotas, and the percentages at which it gets
 * an event. Counters are the running totals of the metering log, plus the units that data planes reported,
 * which no quota refuses. Proven by `test/service/billing/metering.test.ts`.
 */
import type { Usage } from '../../contract/metering.ts';
import { meteredTypes } from '../../contract/operation.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Handlers } from '../port/handler.ts';
import { endOfMonth, monthOf } from '../call/month.ts';
import { monthUsage } from './month-usage.ts';
import { projectUpdated } from '../access/project-events.ts';
import { requireTag } from '../call/entity-tag.ts';
import { fieldError } from '../call/schema.ts';
import { settingsChange, settingsOf, type StoredSettings } from '../call/settings.ts';
import { changeProject, livingProject } from '../access/tenant-change.ts';

export const metering: Pick<Handlers, 'getUsage' | 'getThresholds' | 'putThresholds'> = {
  /** Also for a past month, compared with today's quotas. */
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
    return { status: 200, body: thresholdsOf(settingsOf(await livingProject(services, caller))) };
  },

  async putThresholds({ body, caller, ifMatch }, services) {
    await changeProject(services, { caller, scope: 'projects:write' }, (stored, nowMs) => {
      requireTag(ifMatch, thresholdsOf(settingsOf(stored)), 'the thresholds');
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

const thresholdsOf = ({ thresholds }: StoredSettings) => ({ percents: [...thresholds] });

/** A month whose end can still be written as a time. */
function checkedMonth(period: string): string {
  const year = Number(period.slice(0, 4));
  if (year >= 2000 && year <= 9998) return period;
  const detail = `expected a month of the years 2000 to 9998, such as 2026-11, got ${period}`;
  throw fieldError({ pointer: '/period', in: 'query', code: 'NOT_ALLOWED', detail });
}

/**
 * Citations that reports print. A date says from when a rule applies, as the cited act states it; no report says that a duty
 * exists for the reader, or since when.
 */
import type { ReportBlock } from '../../../core/reports/model.ts';

const aiAct = 'Regulation (EU) 2024/1689';
const amended = 'as amended by Regulation (EU) 2026/1744';

interface Clause {
  /** A few words: renderers cut long labels. */
  readonly name: string;
  readonly cite: string;
  readonly asks: string;
}

export const logging: readonly Clause[] = [
  {
    name: 'Article 12(1)',
    cite: `${aiAct}, Article 12(1)`,
    asks: 'High-risk AI systems technically allow for the automatic recording of events over their lifetime.',
  },
  {
    name: 'Article 12(2)',
    cite: `${aiAct}, Article 12(2)`,
    asks: 'Logs make it possible to identify risks and substantial modifications, to monitor after placing on the market, and to monitor operation.',
  },
  {
    name: 'Article 19(1)',
    cite: `${aiAct}, Article 19(1)`,
    asks: 'Providers keep the automatically generated logs under their control for at least six months, unless other law provides otherwise.',
  },
  {
    name: 'Article 26(6)',
    cite: `${aiAct}, Article 26(6)`,
    asks: 'Deployers keep the logs under their control for at least six months, unless other law provides otherwise.',
  },
  {
    name: 'Article 14',
    cite: `${aiAct}, Article 14`,
    asks: 'People can oversee the system effectively while it is in use.',
  },
];

/** When the cited articles apply, in words. */
export const applicability: readonly ReportBlock[] = [
  {
    text: `Obligations for high-risk systems of Annex III: applies from 2 December 2027 (${aiAct}, Article 113, ${amended}).`,
  },
  {
    text: `Obligations for high-risk systems of Annex I: applies from 2 August 2028 (${aiAct}, Article 113, ${amended}).`,
  },
  { text: `Transparency: applies from 2 August 2026 (${aiAct}, Article 50).` },
  {
    text: 'Whether a system is high-risk, and which duties it has, is a legal question that this report does not answer. Check the dates in the Official Journal.',
  },
];

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Deadlines of incident reports, from a moment that the reader sets. */
export const incidentClocks: readonly (Clause & { readonly afterMs: number | 'month' })[] = [
  {
    name: 'DORA, initial notification',
    cite: 'Regulation (EU) 2022/2554, Article 19; Delegated Regulation (EU) 2025/301, Article 5(1)(a)',
    asks: '4 hours after the incident is classified as major, and 24 hours after becoming aware of it at the latest.',
    afterMs: 4 * hourMs,
  },
  {
    name: 'DORA, intermediate report',
    cite: 'Delegated Regulation (EU) 2025/301, Article 5(1)(b)',
    asks: '72 hours after the initial notification.',
    afterMs: 72 * hourMs,
  },
  {
    name: 'DORA, final report',
    cite: 'Delegated Regulation (EU) 2025/301, Article 5(1)(c)',
    asks: 'One month after the intermediate report.',
    afterMs: 'month',
  },
  {
    name: 'AI Act, serious incident',
    cite: `${aiAct}, Article 73(2)`,
    asks: 'Serious incident of a high-risk AI system: 15 days after becoming aware of it.',
    afterMs: 15 * dayMs,
  },
  {
    name: 'AI Act, death',
    cite: `${aiAct}, Article 73(4)`,
    asks: 'In the event of a death: 10 days after becoming aware of it.',
    afterMs: 10 * dayMs,
  },
  {
    name: 'AI Act, widespread',
    cite: `${aiAct}, Article 73(3)`,
    asks: 'Widespread infringement, or disruption of critical infrastructure: 2 days after becoming aware of it.',
    afterMs: 2 * dayMs,
  },
];

/** The same day of the next month, or its last day. */
export function monthAfter(ms: number): number {
  const date = new Date(ms);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, last)) + (ms % dayMs);
}

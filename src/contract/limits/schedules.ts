/** Limits: schedules of reports, calls of a scheduler, and attempts of deliveries. */
import { MiB } from './units.ts';

export const schedules = {
  schedulesKept: 200,
  scheduleNameChars: 100,
  scheduleCronChars: 200,
  scheduleBackfillDays: 7,
  cronSecretChars: 32,
  cronFailuresPerMinute: 5,
  cronSeconds: 55,
  cronCreatedIds: 100,
  schedulerSeconds: 5,
  deliverySeconds: 20,
  deliveryLeaseSeconds: 180,
  deliveriesAtOnce: 4,
  deliveriesQuickAtOnce: 8,
  deliveriesSlowAtOnce: 4,
  deliveriesSlowOfProject: 2,
  deliverySlowReceivers: 10_000,
  deliveryMailBytes: 20 * MiB,
  deliveryContentBytes: 10 * MiB,
  deliverySecretChars: 200,
} as const;

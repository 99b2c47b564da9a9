/**
 * What plane.json and service.json have in common: where a process listens, its certificate, its log, and what it sends to
 * others. Proven by `test/host/service/config.test.ts` and `test/host/data/config.test.ts`.
 */
import type { ReceiptChoice } from '../../service/log/receipts.ts';
import type { OnLoss } from '../../store/acked/losses.ts';
import type { ExportHoldings } from '../../store/port/store.ts';
import {
  layers,
  parseAddress,
  parseLogLevel,
  parseOptionalAddress,
  servingMembers,
  type Address,
  type LogLevel,
  type Variables,
} from '../config/layers.ts';
import { exportHoursOf, exportMembers, exportsMostOf, type ExportsFile } from '../exports/config.ts';
import { forwardMembers, forwardsOf, type ForwardsFile, type ForwardTarget } from '../forwards/config.ts';
import { outboundMembers, type OutboundFile } from '../outbound/config.ts';
import type { SendersFile } from '../outbound/senders.ts';
import { smtpMembers } from '../outbound/smtp.ts';
import { schedulingMembers, type SchedulingFile } from '../process/scheduling.ts';
import { tlsFilesOf, type TlsFiles } from '../process/tls.ts';
import { reportFontsMembers, type ReportFontsFile } from '../reports/config.ts';
import { witnessMembers, type WitnessesFile } from '../witness/config.ts';

export interface ServingFile
  extends
    WitnessesFile,
    ExportsFile,
    OutboundFile,
    Pick<SendersFile, 'smtp'>,
    ReportFontsFile,
    SchedulingFile,
    ForwardsFile {
  readonly listen: string;
  readonly metricsListen: string | null;
  /** Base URL of problem pages. Absent: the process itself. */
  readonly problemBase?: string;
  readonly logLevel?: LogLevel;
  readonly memoryMiB?: number;
  readonly onLoss?: OnLoss;
  readonly receipts?: ReceiptChoice;
  /** Paths of PEM files, relative to the data directory. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
}

export const servingFileMembers = {
  ...servingMembers,
  ...witnessMembers,
  ...outboundMembers,
  ...smtpMembers,
  ...reportFontsMembers,
  ...schedulingMembers,
  ...exportMembers,
  ...forwardMembers,
};

/** The values that flags may set. `metricsListen: 'off'` serves no metrics. */
export interface ServingFlags {
  readonly listen?: string | undefined;
  readonly metricsListen?: string | undefined;
  readonly logLevel?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsClientCa?: string | undefined;
}

export interface ServingConfig {
  readonly dataDir: string;
  readonly listen: Address;
  readonly metricsListen: Address | null;
  readonly logLevel: LogLevel;
  /** Hours that export artifacts are kept. */
  readonly exportHours: number;
  readonly exportsMost: ExportHoldings;
  readonly targets: readonly ForwardTarget[];
  /** Null: HTTP without TLS. */
  readonly tls: TlsFiles | null;
}

/** Each value from its flag, else its GOV_* variable, else the file, else its default. VALIDATION_ERROR names its source. */
export function servingConfigOf(
  file: ServingFile,
  flags: ServingFlags,
  { dataDir, path, env }: { readonly dataDir: string; readonly path: string; readonly env: Variables },
): ServingConfig {
  const pick = layers<keyof ServingFlags>(flags, env, path);
  return {
    dataDir,
    listen: parseAddress(pick('listen', 'GOV_LISTEN', file.listen)),
    metricsListen: parseOptionalAddress(
      pick('metricsListen', 'GOV_METRICS_LISTEN', file.metricsListen ?? 'off'),
    ),
    logLevel: parseLogLevel(pick('logLevel', 'GOV_LOG_LEVEL', file.logLevel ?? 'info')),
    exportHours: exportHoursOf(file.exportHours, env),
    exportsMost: exportsMostOf(file, env),
    targets: forwardsOf(file, { path, dataDir }),
    tls: tlsFilesOf(
      {
        cert: pick('tlsCert', 'GOV_TLS_CERT', file.tlsCert ?? null),
        key: pick('tlsKey', 'GOV_TLS_KEY', file.tlsKey ?? null),
        clientCa: pick('tlsClientCa', 'GOV_TLS_CLIENT_CA', file.tlsClientCa ?? null),
      },
      { dataDir, file: path, env },
    ),
  };
}

/** The transparency log as C2SP tlog-checkpoint and tlog-tiles texts (contract O10). */
import { Type } from 'typebox';
import { operation } from './operation.ts';
import { exact } from './shapes.ts';

const shared = {
  method: 'GET',
  tag: 'Log',
  stability: 'beta',
  origin: 'extension',
  scope: 'log:read',
} as const;
const text = { mediaType: 'text/plain; charset=utf-8' } as const;
const binary = { mediaType: 'application/octet-stream' } as const;

export const log = {
  getCheckpoint: operation({
    ...shared,
    path: '/log/checkpoint',
    summary: 'Get the newest signed checkpoint',
    success: { 200: text },
    statuses: [401, 500],
  }),
  getLogKey: operation({
    ...shared,
    path: '/log/key',
    summary: 'Get the verifier keys of the log, one per line',
    success: { 200: text },
    statuses: [401, 500],
  }),
  getTile: operation({
    ...shared,
    path: '/log/tile/*',
    summary: 'Get a hash tile or entry bundle (C2SP tlog-tiles)',
    params: exact({ '*': Type.String({ maxLength: 128 }) }),
    success: { 200: binary },
    statuses: [401, 404, 500],
  }),
} as const;

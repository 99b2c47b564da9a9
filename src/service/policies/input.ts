/**
 * Reads checkpoints as callers send them (contract O5): `{step?, context}`. Simulate and impact also accept
 * the bare context. Proven by `test/service/policies/simulate.engines.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import { limits } from '../../contract/limits.ts';
import type { FieldError } from '../../contract/problems.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { fieldError } from '../call/schema.ts';
import { pointerToken } from '../../core/json/pointer.ts';

/**
 * VALIDATION_ERROR and UNKNOWN_FIELD at `pointer` for an invalid checkpoint. An attacker controls the value.
 */
export function readCheckpoint(value: Readonly<Record<string, unknown>>, pointer: string): PolicyInput {
  // a parsed body is JSON
  const sent = value as JsonObject;
  const checkpoint = Object.hasOwn(sent, 'context') ? spelledOut(sent, pointer) : { context: sent };
  refuseLarge(checkpoint, pointer);
  return checkpoint;
}

function spelledOut(sent: JsonObject, pointer: string): PolicyInput {
  const refuse = (member: string, code: FieldCode, detail: string): never => {
    const field: FieldError = { pointer: `${pointer}/${member}`, in: 'body', code, detail };
    throw fieldError(field);
  };
  for (const name of Object.keys(sent)) {
    if (name === 'context' || name === 'step') continue;
    const detail = 'expected only step and context here; put what policies should see into context';
    refuse(pointerToken(name).slice(0, limits.echoChars), 'UNKNOWN_FIELD', detail);
  }
  const { context, step } = sent;
  if (typeof context !== 'object' || context === null || Array.isArray(context)) {
    return refuse('context', 'WRONG_TYPE', `expected an object, got ${kindOf(context)}`);
  }
  if (!Object.hasOwn(sent, 'step')) return { context };
  if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) {
    return refuse('step', 'WRONG_TYPE', `expected an integer of 0 to 2^53-1, got ${kindOf(step)}`);
  }
  return { step, context };
}

const kindOf = (value: Json | undefined): string => {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
};

/** VALIDATION_ERROR for a checkpoint whose canonical form exceeds `limits.checkpointBytes`. */
export function refuseLarge(checkpoint: PolicyInput, pointer: string): void {
  const limit = limits.checkpointBytes;
  const bytes = Buffer.byteLength(canonicalize(checkpoint as unknown as Json));
  if (bytes <= limit) return;
  const detail = `expected at most ${limit} canonical bytes, got ${bytes}; leave out what no policy reads`;
  throw fieldError({ pointer, in: 'body', code: 'TOO_LARGE', detail, limit });
}

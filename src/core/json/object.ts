/** Telling JSON objects from other values. */
import type { JsonObject } from './canonical.ts';

/** Whether a JSON value is an object: neither null nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

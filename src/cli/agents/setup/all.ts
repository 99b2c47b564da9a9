/** The set-ups of all clients, in the order of `gov agents doctor`. */
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import { otherSetups } from './others.ts';
import type { Setup } from './edit.ts';

export const setups: readonly Setup[] = [claudeCode, codex, gemini, ...otherSetups];

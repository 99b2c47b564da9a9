/**
 * What a plane keeps of content in received telemetry: the stricter of what its operator (`plane.json`) and its service
 * (the signed configuration) say, so that neither can loosen what the other forbids.
 * Proven by `test/plane/config/content.test.ts`.
 */
import { contentCaptures, type ContentCapture } from '../../src/contract/projects.ts';
import type { CaptureInForce } from '../../src/contract/plane-config.ts';

/** The members of `contentCaptures` are in order, the strictest first. */
export function captureInForce(
  own: ContentCapture | undefined,
  ofService: ContentCapture | undefined,
): CaptureInForce {
  if (ofService === undefined)
    return own === undefined ? { value: 'hashes', from: 'default' } : { value: own, from: 'plane.json' };
  const isOwnStricter =
    own !== undefined && contentCaptures.indexOf(own) < contentCaptures.indexOf(ofService);
  return isOwnStricter ? { value: own, from: 'plane.json' } : { value: ofService, from: 'service' };
}

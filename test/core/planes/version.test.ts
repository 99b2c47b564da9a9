import { describe, expect, it } from 'vitest';
import { isTooNew, oldestPlane, planeSupport } from '../../../src/core/planes/version.ts';

describe('supported plane releases', () => {
  it.each([
    // plane, service, word
    ['0.5.0', '0.5.0', 'supported'],
    ['0.5.9', '0.5.0', 'supported'],
    ['0.4.0', '0.5.3', 'supported'],
    ['0.3.0', '0.5.0', 'supported'],
    ['0.3.7-rc.1', '0.5.0', 'supported'],
    ['0.2.9', '0.5.0', 'old'],
    ['0.0.1', '0.5.0', 'old'],
    ['0.6.0', '0.5.9', 'newer'],
    ['1.0.0', '0.5.0', 'newer'],
    ['0.9.0', '1.0.0', 'old'],
    ['1.0.0', '1.2.0', 'supported'],
    ['1.0.0', '1.3.0', 'old'],
    ['0.1.0', '0.1.0', 'supported'],
    ['2.10.1+build.5', '2.12.0', 'supported'],
    [undefined, '0.5.0', 'unknown'],
    ['', '0.5.0', 'unknown'],
    ['0.5', '0.5.0', 'unknown'],
    ['v0.5.0', '0.5.0', 'unknown'],
    ['0.05.0', '0.5.0', 'unknown'],
    ['0.5.0 ', '0.5.0', 'unknown'],
    ['9999999.0.0', '0.5.0', 'unknown'],
  ] as const)('planes of release %s at a service of %s are %s', (plane, service, word) => {
    expect(planeSupport(plane, service)).toBe(word);
  });

  it.each([
    ['0.5.0', '0.3.0'],
    ['0.1.0', '0.0.0'],
    ['3.2.9', '3.0.0'],
    ['3.7.9', '3.5.0'],
  ])('a service of release %s supports planes back to release %s', (service, oldest) => {
    expect(oldestPlane(service)).toBe(oldest);
    expect(planeSupport(oldest, service)).toBe('supported');
  });
});

describe('services that are too new for a plane', () => {
  it.each([
    ['1.0.0', '0.9.0', true],
    ['2.0.0', '1.9.9', true],
    ['0.9.0', '0.1.0', false],
    ['0.1.0', '1.0.0', false],
    ['1.5.0', '1.1.0', false],
    ['soon', '1.1.0', true],
  ])('a service of release %s is too new to configure a plane of %s: %s', (service, plane, expected) => {
    expect(isTooNew(service, plane)).toBe(expected);
  });
});

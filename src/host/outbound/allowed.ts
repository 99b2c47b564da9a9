/**
 * Receivers inside our networks that the operator allows: names, addresses and networks, each with an optional
 * port. `hooks.corp.example`, `hooks.corp.example:9443`, `10.1.2.0/24`, `10.1.2.3:8443`, `[fd00::/8]:8443`.
 * Without a port an entry is for 443 and 8443, and with `:*` for every port. Proven by `test/host/outbound/allowed.test.ts`.
 */
import { BlockList, isIPv4 } from 'node:net';
import { parseSubnet } from '../../http/admit/address.ts';
import { invalid } from '../config/layers.ts';

/** The ports of receivers (contract N7). */
export const usualPorts: readonly number[] = [443, 8443];

interface Allowance {
  /** Null for a network. */
  readonly name: string | null;
  readonly network: BlockList;
  /** Null: every port. */
  readonly ports: readonly number[] | null;
}

export class AllowList {
  readonly #entries: readonly Allowance[];

  /** VALIDATION_ERROR, which begins with `from`, for an entry of another form. */
  constructor(entries: readonly string[], from: string) {
    this.#entries = entries.map((text) => parsed(text, from));
  }

  /** Whether an entry names this host. Its addresses then come from the system, `/etc/hosts` included. */
  hasName(name: string): boolean {
    return this.#entries.some((entry) => entry.name === name);
  }

  /** Whether a connection to this address of the host is allowed, wherever the address lies. */
  has(name: string, address: string, port: number): boolean {
    return this.#entries.some(
      (entry) =>
        isFor(entry, port) &&
        (entry.name === name || entry.network.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')),
    );
  }

  /** Whether any entry has this port. */
  hasPort(port: number): boolean {
    return this.#entries.some((entry) => isFor(entry, port));
  }
}

const isFor = ({ ports }: Allowance, port: number): boolean => ports === null || ports.includes(port);

const form = /^(?:\[([0-9A-Fa-f:.]+(?:\/[0-9]{1,3})?)\]|([^:[\]\s]+))(?::([0-9]{1,5}|\*))?$/;
const namePattern = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

function parsed(text: string, from: string): Allowance {
  const [, v6, other, digits] = form.exec(text) ?? [];
  const port = Number(digits === '*' ? usualPorts[0] : (digits ?? usualPorts[0]));
  const ports = digits === undefined ? usualPorts : digits === '*' ? null : [port];
  const host = (v6 ?? other ?? '').toLowerCase();
  const network = new BlockList();
  const subnet = parseSubnet(host);
  const isName = subnet === null && v6 === undefined && namePattern.test(host);
  if (port < 1 || port > 65_535 || (subnet === null && !isName)) {
    const expected = 'a host, an address or a network, such as hooks.corp.example:9443 or [fd00::/8]:8443';
    throw invalid(from, `${expected}, got ${text.slice(0, 64)}`);
  }
  if (subnet === null) return { name: host, network, ports };
  const { address, version, bits } = subnet;
  if (bits === null) network.addAddress(address, version);
  else network.addSubnet(address, bits, version);
  return { name: null, network, ports };
}

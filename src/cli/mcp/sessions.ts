/**
 * Sessions of Streamable HTTP (`Mcp-Session-Id`, revisions of 2025). A request of a session may be answered on another
 * stream of it, so its open requests are shared. Without a session each exchange is on its own.
 * Tested by `test/cli/mcp/sessions.test.ts` and `test/cli/commands/mcp/http.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { limits } from '../../contract/limits.ts';
import type { Peers } from './gate.ts';
import { PendingLists } from './listing.ts';
import { OpenRequests } from './open-calls.ts';

const header = 'mcp-session-id';

export class Session {
  readonly open: OpenRequests;
  peers: Peers;
  isResumable = false;

  constructor(peers: Peers, lists: PendingLists) {
    this.peers = peers;
    this.open = new OpenRequests(lists);
  }
}

export class Sessions {
  /** One for all sessions: in revision 2026 of MCP, a list and a call are not in one session. */
  readonly lists = new PendingLists();
  readonly #byId = new Map<string, Session>();
  /** What the server said of itself last. All clients have the same server. */
  #server: Peers = {};

  /** Returns the session that a request names. Without a name, returns a new session for this exchange. */
  of(headers: IncomingHttpHeaders): Session {
    const id = headers[header];
    if (typeof id !== 'string') return new Session(this.#server, this.lists);
    return this.#byId.get(id) ?? this.#add(id, new Session(this.#server, this.lists));
  }

  /** An answer to a request of `session` can open a session. */
  begin(headers: IncomingHttpHeaders, session: Session): void {
    const { server, protocolVersion } = session.peers;
    this.#server = { ...(server && { server }), ...(protocolVersion && { protocolVersion }) };
    const id = headers[header];
    if (typeof id === 'string' && !this.#byId.has(id)) this.#add(id, session);
  }

  #add(id: string, session: Session): Session {
    session.isResumable = true;
    this.#byId.set(id, session);
    for (const [oldest, { open }] of this.#byId) {
      if (this.#byId.size <= limits.mcpSessions) break;
      open.endAll('the proxy has forgotten the session');
      this.#byId.delete(oldest);
    }
    return session;
  }

  end(headers: IncomingHttpHeaders): void {
    const id = String(headers[header] ?? '');
    this.#byId.get(id)?.open.endAll('the session ended');
    this.#byId.delete(id);
  }

  endAll(detail: string): void {
    for (const { open } of this.#byId.values()) open.endAll(detail);
    this.#byId.clear();
  }
}

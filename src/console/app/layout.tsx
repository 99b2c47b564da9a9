/** The frame of every page: navigation, who is signed in, and the place of the content. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { visibleLine } from '../../core/visible.ts';
import { Button } from '../parts/button.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { pages } from './pages.tsx';
import type { PageAddress } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';

interface LayoutProps {
  readonly place: PageAddress;
  readonly children: ComponentChildren;
}

export function Layout({ place, children }: LayoutProps) {
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const address = place.segments.join('/');
  const shown = useRef(address);
  useEffect(() => {
    setOpen(false);
    // after a click the keyboard and screen readers continue in the new page, as after a load
    if (shown.current !== address) main.current?.focus();
    shown.current = address;
  }, [address]);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="side">
        <div class="side-head">
          <a class="brand" href="#/">
            <Mark /> gov
          </a>
          <button
            type="button"
            class="menu"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
        </div>
        <div id="navigation" class={isOpen ? 'side-body open' : 'side-body'}>
          <Navigation first={place.segments[0] ?? ''} />
          <Account />
        </div>
      </header>
      <main ref={main} id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Navigation({ first }: { readonly first: string }) {
  const isHosted = useSession().identity.type === 'person';
  return (
    <nav aria-label="Pages">
      <ul>
        {pages
          .filter((page) => page.nav !== undefined && (isHosted || page.isHosted !== true))
          .map(({ path, nav }) => (
            <li key={path}>
              <a href={`#${path}`} {...(path.slice(1) === first ? { 'aria-current': 'page' } : {})}>
                {nav}
              </a>
            </li>
          ))}
      </ul>
    </nav>
  );
}

function Account() {
  const { identity, environment, signOut } = useSession();
  const [error, setError] = useState<string | null>(null);
  const leave = (): void => {
    signOut().catch((cause: unknown) => setError(cause instanceof Error ? cause.message : 'it failed'));
  };
  return (
    <div class="account">
      <p class="account-name">
        <RemoteLine text={identity.name ?? identity.id} />
      </p>
      <p class="quiet">
        {identity.type === 'person' ? <RemoteLine text={identity.organizationName ?? ''} /> : 'API key'} ·{' '}
        {environment}
      </p>
      <ProjectChoice />
      <Button kind="quiet" onClick={leave}>
        Sign out
      </Button>
      {error !== null && <p role="alert">{error}</p>}
    </div>
  );
}

/** The project that a person works on; nothing for a key, which has its own. */
function ProjectChoice() {
  const { identity, projects, chooseProject } = useSession();
  if (projects === null) return null;
  const choose = (id: string): void => {
    const project = projects.find((each) => each.id === id);
    if (project !== undefined) chooseProject(project);
  };
  return (
    <label class="field">
      Project
      <select value={identity.projectId} onChange={(event) => choose(event.currentTarget.value)}>
        {projects.map(({ id, name, environment }) => (
          <option key={id} value={id}>
            {visibleLine(name)} ({environment})
          </option>
        ))}
      </select>
    </label>
  );
}

const Mark = () => (
  <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <rect width="32" height="32" rx="8" class="mark-back" />
    <path d="M9 16.5l4.7 4.7L23.5 11" class="mark-line" />
  </svg>
);

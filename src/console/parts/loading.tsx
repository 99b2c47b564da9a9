import { useEffect, useState } from 'preact/hooks';

/** Says what is loading, after a moment: a fast answer must not flash. `what`: 'the approvals'. */
export function Loading({ what }: { readonly what: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="loading" role="status">
      {isSlow ? `Loading ${what}…` : ''}
    </div>
  );
}

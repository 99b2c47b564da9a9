/** Leads to the verify page, a file of its own that needs no session and no network. */
import { PageHead } from '../parts/page-head.tsx';

export const Verify = () => (
  <>
    <PageHead title="Verify">Check evidence without trusting this service.</PageHead>
    <section class="card stack">
      <p>
        The verify page is one HTML file. It checks proof bundles, exports and report PDFs in your browser,
        with the code of <code>gov proofs verify</code>, and works with the network off. Save it, or keep a
        copy that you got earlier.
      </p>
      <div class="actions">
        <a class="button main" href="verify.html" target="_blank" rel="noopener">
          Open the verify page
        </a>
        <a class="button" href="verify.html" download="verify.html">
          Save it
        </a>
      </div>
    </section>
  </>
);

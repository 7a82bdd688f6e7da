//! The kinds of secrets and the forms their vendors publish.
//!
//! A kind is found in two steps: one search looks for the words of all kinds at once, and the pattern of a
//! kind is tried only where one of its words stands. The first group of a pattern is the secret. Patterns work
//! on bytes and need neither look-around nor back-references, so that they are tried in linear time.
//!
//! Lengths are taken a little wider than published: vendors lengthen their tokens, and a token missed costs
//! more than a word masked. A specific kind stands before a general one: of two that see the same bytes, the
//! first gives the name.

/// One kind of secret.
#[derive(Debug)]
pub(super) struct Kind {
    /// As it stands in a placeholder.
    pub(super) name: &'static str,
    /// At least one of them is in every text that holds the kind.
    pub(super) words: &'static [&'static str],
    /// How the pattern lies to the word.
    pub(super) place: Place,
    /// For `Assigned` and `Block` unused: they are read by hand.
    pub(super) pattern: &'static str,
    /// What the secret must be beyond its pattern.
    pub(super) check: Check,
}

/// How a pattern lies to the word it was tried for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It begins with the word, and no letter, digit or `_` stands before.
    Head,
    /// It begins with the word, whatever stands before.
    Loose,
    /// It begins after the word, which is read in any case; up to 24 bytes of a name and a separator between.
    Near,
    /// It begins just after the word, which is read in any case.
    After,
    /// It holds the word, at most so many bytes from its start.
    Around(usize),
    /// The word is part of a name that something is assigned to.
    Assigned,
    /// A block of several lines that the word begins.
    Block,
}

/// What a secret must be beyond its pattern. Placeholders of documentation never are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing more.
    Form,
    /// Letters and digits without a visible order.
    Mixed,
    /// Small and capital letters and digits: not a hash in hex.
    AllClasses,
    /// Base64 of `user:password`.
    Pair,
    /// What people choose as a password.
    Password,
    /// What is given to a flag or a variable for passwords, short ones too.
    Given,
    /// Anything in an address that isn't a port or an obvious filler.
    Address,
    /// What people choose as a password, and the word begins its line.
    LineStart,
    /// What machines make as a token.
    Token,
}

/// The longest way back from a word to the start of its secret.
pub(super) const BACK_MAX_BYTES: usize = 80;

/// Between the word of a `Near` kind and its secret.
const NEAR: &str = r#"^[A-Za-z0-9_.\- ]{0,24}[ \t"'`=:>,|(\]\\]{1,12}"#;

impl Kind {
    /// The regular expression to try.
    pub(super) fn source(&self) -> String {
        match self.place {
            Place::Near => format!("{NEAR}{}", self.pattern),
            Place::Around(_) => self.pattern.to_owned(),
            _ => format!("^(?:{})", self.pattern),
        }
    }

    /// Whether its words are meant in just the case they are written in.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self.place, Place::Head | Place::Loose | Place::Around(_) | Place::Block)
    }

    const fn with(mut self, check: Check) -> Self {
        self.check = check;
        self
    }
}

const fn kind(
    name: &'static str,
    words: &'static [&'static str],
    place: Place,
    pattern: &'static str,
) -> Kind {
    Kind { name, words, place, pattern, check: Check::Form }
}

const fn head(name: &'static str, words: &'static [&'static str], pattern: &'static str) -> Kind {
    kind(name, words, Place::Head, pattern)
}

const fn loose(name: &'static str, words: &'static [&'static str], pattern: &'static str) -> Kind {
    kind(name, words, Place::Loose, pattern)
}

const fn near(name: &'static str, words: &'static [&'static str], pattern: &'static str) -> Kind {
    kind(name, words, Place::Near, pattern)
}

const fn after(name: &'static str, words: &'static [&'static str], pattern: &'static str) -> Kind {
    kind(name, words, Place::After, pattern)
}

const fn around(
    name: &'static str,
    words: &'static [&'static str],
    back: usize,
    pattern: &'static str,
) -> Kind {
    kind(name, words, Place::Around(back), pattern)
}

/// All kinds, the specific ones first.
#[rustfmt::skip] // one row is one kind
pub(super) static KINDS: &[Kind] = &[
    // Keys in blocks and files.
    kind("private-key", &["-----BEGIN ", "---- BEGIN ", "Private-Lines: "], Place::Block, ""),
    // Base64 of a PEM block that begins a private key, as cluster configurations hold it.
    loose("private-key", &["LS0tLS1CRUdJTi"], r"(LS0tLS1CRUdJTi(?:BQUklWQVRFIEtFW|BSU0EgUFJJVkFURSBLRV|BFQyBQUklWQVRFIEtFW|BPUEVOU1NIIFBSSVZBVEUgS0V|BFTkNSWVBURUQgUFJJVkFURSBLRV|BEU0EgUFJJVkFURSBLRV)[A-Za-z0-9+/=_-]{20,})"),
    head("age-key", &["AGE-SECRET-KEY-1", "AGE-PLUGIN-"], r"(AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,20}-)-?1[0-9A-Z]{30,})"),
    after("wireguard-key", &["privatekey", "presharedkey"], r#"[ \t]{0,8}[=:][ \t]{0,8}["']?([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)"#),

    // Clouds.
    head("aws-access-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(A(?:KI|SI|BI|CC)A[A-Z0-9]{16})"),
    near("aws-secret-key", &["secretaccesskey", "secret_access_key", "secret-access-key", "secret access key", "aws_secret", "aws-secret", "awssecret", "secretkey", "secret_key", "aws"], r"([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=_-]|$)").with(Check::AllClasses),
    head("aws-bedrock-key", &["ABSK", "bedrock-api-key-"], r"((?:ABSK|bedrock-api-key-)[A-Za-z0-9+/]{80,}={0,2})"),
    head("google-api-key", &["AIza"], r"(AIza[A-Za-z0-9_-]{35})"),
    loose("google-oauth-secret", &["GOCSPX-"], r"(GOCSPX-[A-Za-z0-9_-]{20,})"),
    head("google-access-token", &["ya29."], r"(ya29\.[A-Za-z0-9_-]{20,})"),
    head("google-refresh-token", &["1//0"], r"(1//0[A-Za-z0-9_-]{30,})").with(Check::Mixed),
    after("azure-storage-key", &["accountkey", "sharedaccesskey", "account_key"], r#"["']?[ \t]{0,4}[=:][ \t]{0,4}["']?([A-Za-z0-9+/]{40,88}={1,2})"#),
    after("azure-sas", &["?sig", "&sig", ";sig", "\\u0026sig", "&amp;sig"], r"=([A-Za-z0-9%+/]{40,100}={0,2})").with(Check::Mixed),
    around("azure-client-secret", &["Q~"], 4, r"([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,34})"),
    around("azure-devops-token", &["AZDO"], 76, r"([A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})"),
    head("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"(do[opr]_v1_[0-9a-f]{64})"),
    head("alibaba-key", &["LTAI"], r"(LTAI[A-Za-z0-9]{12,24})").with(Check::Mixed),
    head("tencent-key", &["AKID"], r"(AKID[A-Za-z0-9]{32})").with(Check::Mixed),
    near("cloudflare-token", &["cloudflare", "cf_api", "cf-api", "cf_token"], r"([A-Za-z0-9_-]{40})(?:[^A-Za-z0-9_-]|$)").with(Check::AllClasses),
    near("cloudflare-token", &["cloudflare", "cf_api", "cf-api", "x-auth-key"], r"([0-9a-f]{37})"),
    loose("cloudflare-token", &["cfut_", "cfat_", "cfk_"], r"(cf(?:ut|at|k)_[A-Za-z0-9_-]{30,})").with(Check::Mixed),
    head("cloudflare-origin-key", &["v1.0-"], r"(v1\.0-[0-9a-f]{24}-[0-9a-f]{100,})"),
    loose("heroku-key", &["HRKU-"], r"(HRKU-[A-Za-z0-9_-]{30,})"),
    near("heroku-key", &["heroku"], r"([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})"),
    head("fly-token", &["fo1_", "fm1r_", "fm1a_", "fm2_"], r"(fo1_[A-Za-z0-9_-]{40,}|fm(?:1[ra]|2)_[A-Za-z0-9+/=_-]{80,})"),
    head("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"], r"(vc[piark]_[A-Za-z0-9]{24,}|vercel_blob_rw_[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,})"),
    near("vercel-token", &["vercel"], r"([A-Za-z0-9]{24})").with(Check::Mixed),
    head("netlify-token", &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"], r"(nf[pcoub]_[A-Za-z0-9_]{32,})"),
    head("supabase-token", &["sbp_", "sb_secret_"], r"(sbp_(?:oauth_|v0_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,})"),
    loose("planetscale-token", &["pscale_"], r"(pscale_(?:tkn|pw|pass|oauth|app_secret)_[A-Za-z0-9_.=-]{32,})"),
    loose("databricks-token", &["dapi", "dose", "dkea"], r"(d(?:api|ose|kea)[0-9a-f]{32}(?:-[0-9]{1,2})?)"),
    loose("render-key", &["rnd_"], r"(rnd_[A-Za-z0-9]{28,})").with(Check::Mixed),
    head("scaleway-key", &["SCW"], r"(SCW[A-Z0-9]{17})").with(Check::Mixed),
    head("yandex-key", &["AQVN", "YCAJ", "y0_"], r"(AQVN[A-Za-z0-9_-]{35,38}|YCAJE[A-Za-z0-9_-]{20}|y0_[A-Za-z0-9_-]{50,})").with(Check::Mixed),

    // Code hosts, packages and builds.
    loose("github-token", &["github_pat_"], r"(github_pat_[A-Za-z0-9_]{36,})"),
    loose("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(gh[pousr]_[A-Za-z0-9_]{36,}(?:\.[A-Za-z0-9_-]{8,}){0,2})"),
    loose("gitlab-token", &["glpat-", "gloas-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-", "glwt-", "GR1348941"], r"((?:gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-|GR1348941)[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*)"),
    loose("atlassian-token", &["ATATT3", "ATCTT3", "ATBB", "ATSTT3"], r"(AT(?:ATT3|CTT3|STT3)[A-Za-z0-9_=-]{60,}|ATBB[A-Za-z0-9]{32})"),
    loose("npm-token", &["npm_"], r"(npm_[A-Za-z0-9]{36,})").with(Check::Mixed),
    loose("pypi-token", &["pypi-Ag"], r"(pypi-Ag[A-Za-z0-9_-]{40,})"),
    head("crates-io-token", &["cio"], r"(cio[A-Za-z0-9]{32})").with(Check::Mixed),
    loose("rubygems-key", &["rubygems_"], r"(rubygems_[0-9a-f]{48})"),
    head("nuget-key", &["oy2"], r"(oy2[a-z0-9]{43})"),
    loose("clojars-token", &["CLOJARS_"], r"(CLOJARS_[a-z0-9]{60})"),
    loose("docker-token", &["dckr_pat_", "dckr_oat_"], r"(dckr_[po]at_[A-Za-z0-9_-]{20,})"),
    head("artifactory-token", &["AKCp", "cmVmdGtu"], r"(AKCp[A-Za-z0-9]{60,80}|cmVmdGtu[A-Za-z0-9]{50,80})"),
    loose("buildkite-token", &["bkua_", "bkaj_", "bkct_"], r"(bk(?:ua|aj|ct)_[A-Za-z0-9_-]{30,})"),
    loose("circleci-token", &["CCIPAT_", "CCIPRJ_"], r"(CCIP(?:AT|RJ)_[A-Za-z0-9_]{30,})"),
    loose("sonar-token", &["sqp_", "sqa_", "squ_"], r"(sq[pau]_[0-9a-f]{40})"),
    loose("sourcegraph-token", &["sgp_"], r"(sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40})"),
    loose("pulumi-token", &["pul-"], r"(pul-[0-9a-f]{40})"),
    around("terraform-token", &[".atlasv1."], 14, r"([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,})"),
    head("vault-token", &["hvs.", "hvb.", "hvr."], r"(hv[sbr]\.[A-Za-z0-9_-]{24,})"),
    head("doppler-token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"(dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,44})"),
    loose("prefect-key", &["pnu_", "pnb_"], r"(pn[ub]_[A-Za-z0-9]{36})"),
    head("onepassword-token", &["ops_eyJ"], r"(ops_eyJ[A-Za-z0-9+/=_-]{100,})"),
    head("tailscale-key", &["tskey-"], r"(tskey-[a-z]{2,10}-[A-Za-z0-9]{6,}(?:-[A-Za-z0-9]{10,})?)"),
    head("openshift-token", &["sha256~"], r"(sha256~[A-Za-z0-9_-]{43})"),
    near("ngrok-token", &["ngrok", "authtoken"], r"(2[A-Za-z0-9]{26}_[A-Za-z0-9]{15,25})").with(Check::Mixed),

    // Models.
    loose("anthropic-key", &["sk-ant-"], r"(sk-ant-[a-z]{2,8}[0-9]{2}-[A-Za-z0-9_-]{24,})"),
    head("openrouter-key", &["sk-or-"], r"(sk-or-(?:v[0-9]-)?[0-9a-f]{40,})"),
    loose("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-service-"], r"(sk-(?:proj|svcacct|admin|None|service)-[A-Za-z0-9_-]{20,})").with(Check::Mixed),
    head("openai-key", &["sk-"], r"(sk-[A-Za-z0-9]{32,})").with(Check::Mixed),
    head("huggingface-token", &["hf_", "api_org_"], r"((?:hf|api_org)_[A-Za-z0-9]{30,})"),
    head("groq-key", &["gsk_"], r"(gsk_[A-Za-z0-9]{40,})"),
    head("xai-key", &["xai-"], r"(xai-[A-Za-z0-9]{60,})"),
    head("perplexity-key", &["pplx-"], r"(pplx-[A-Za-z0-9]{40,})"),
    head("replicate-token", &["r8_"], r"(r8_[A-Za-z0-9]{36,})"),
    head("nvidia-key", &["nvapi-"], r"(nvapi-[A-Za-z0-9_-]{60,})"),
    head("langsmith-key", &["lsv2_"], r"(lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,12})"),
    head("pinecone-key", &["pcsk_"], r"(pcsk_[A-Za-z0-9_]{50,})"),
    head("tavily-key", &["tvly-"], r"(tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{24,})").with(Check::Mixed),
    head("cerebras-key", &["csk-"], r"(csk-[a-z0-9]{40,})").with(Check::Mixed),

    // Money.
    loose("stripe-key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], r"([sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,})"),
    loose("stripe-webhook-secret", &["whsec_"], r"(whsec_[A-Za-z0-9+/]{24,}={0,2})"),
    head("square-token", &["EAAA", "sq0atp-", "sq0csp-"], r"(EAAA[A-Za-z0-9_-]{60}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43})").with(Check::Mixed),
    loose("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shprt_"], r"(shp(?:at|ca|pa|ss|ua|rt)_[A-Fa-f0-9]{32})"),
    loose("paypal-token", &["access_token$production$", "access_token$sandbox$"], r"(access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32})"),
    head("easypost-key", &["EZAK", "EZTK"], r"(EZ[AT]K[A-Za-z0-9]{54})"),
    loose("shippo-key", &["shippo_live_", "shippo_test_"], r"(shippo_(?:live|test)_[0-9a-f]{40})"),
    loose("flutterwave-key", &["FLWSECK"], r"(FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?)"),
    loose("duffel-token", &["duffel_live_", "duffel_test_"], r"(duffel_(?:live|test)_[A-Za-z0-9_=-]{40,})"),

    // Messages and mail.
    head("slack-token", &["xox", "xapp-"], r"(xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})").with(Check::Mixed),
    loose("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})").with(Check::Mixed),
    head("discord-token", &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "mfa."], r"([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|mfa\.[A-Za-z0-9_-]{80,})"),
    loose("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_-]{50,})"),
    loose("teams-webhook", &[".webhook.office.com/"], r"\.webhook\.office\.com/webhookb?2?/([A-Za-z0-9@/-]{60,})"),
    around("telegram-token", &[":AA"], 11, r"([0-9]{8,11}:AA[A-Za-z0-9_-]{32,34})"),
    head("twilio-key", &["SK"], r"(SK[0-9a-f]{32})"),
    near("twilio-key", &["twilio"], r"((?:AC|SK)?[0-9a-f]{32})"),
    head("twilio-key", &["AC"], r#"AC[0-9a-f]{32}["']?[:,][ \t]{0,4}["']?([0-9a-f]{32})"#),
    head("sendgrid-key", &["SG."], r"(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64})"),
    head("mailgun-key", &["key-"], r"(key-[0-9a-f]{32})"),
    near("mailgun-key", &["mailgun"], r"((?:key-)?[0-9a-f]{32}(?:-[0-9a-f]{8}-[0-9a-f]{8})?)"),
    around("mailchimp-key", &["-us"], 32, r"([0-9a-f]{32}-us[0-9]{1,2})"),
    loose("brevo-key", &["xkeysib-", "xsmtpsib-"], r"(x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16})"),
    head("resend-key", &["re_"], r"(re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,30})").with(Check::Mixed),

    // Work and documents.
    loose("linear-key", &["lin_api_", "lin_oauth_", "lin_wh_"], r"(lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,})"),
    head("notion-token", &["ntn_", "secret_"], r"(ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})").with(Check::Mixed),
    loose("figma-token", &["figd_", "figo_", "figu_", "figor_", "figur_", "figoh_"], r"(fig(?:d|o|u|or|ur|oh)_[A-Za-z0-9_-]{30,})").with(Check::Mixed),
    head("airtable-token", &["pat"], r"(pat[A-Za-z0-9]{14}\.[0-9a-f]{64})"),
    loose("hubspot-token", &["pat-na", "pat-eu"], r"(pat-(?:na|eu)[0-9]{1,2}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"),
    loose("typeform-token", &["tfp_"], r"(tfp_[A-Za-z0-9_.=-]{40,64})").with(Check::Mixed),
    loose("contentful-token", &["CFPAT-"], r"(CFPAT-[A-Za-z0-9_-]{40,})"),
    loose("readme-key", &["rdme_"], r"(rdme_[a-z0-9]{60,})"),
    head("asana-token", &["1/"], r"(1/[0-9]{14,18}(?:/[0-9]{14,18})?:[0-9a-f]{32})"),
    head("dropbox-token", &["sl."], r"(sl\.(?:u\.)?[A-Za-z0-9_-]{120,})"),
    loose("mapbox-token", &["sk.eyJ"], r"(sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,})"),
    head("facebook-token", &["EAA"], r"(EAA[A-Z][A-Za-z0-9]{90,})").with(Check::Mixed),

    // Watching and testing.
    loose("grafana-token", &["glsa_", "glc_", "eyJrIjoi"], r"(glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=_-]{32,}|eyJrIjoi[A-Za-z0-9+/]{40,}={0,2})"),
    loose("newrelic-key", &["NRAK-", "NRII-", "NRRA-", "NRSP-", "NRMA-"], r"(NR(?:AK|II|RA|SP|MA)-[A-Za-z0-9_-]{27,})"),
    around("newrelic-key", &["NRAL", "FFFFNRAL"], 40, r"((?:[a-z]{2}[0-9]{2}xx[0-9a-f]{26,30}|[0-9a-f]{36})(?:FFFF)?NRAL)"),
    loose("postman-key", &["PMAK-"], r"(PMAK-[0-9a-f]{24}-[0-9a-f]{34})"),
    loose("sentry-token", &["sntrys_", "sntryu_"], r"(sntry[su]_[A-Za-z0-9+/=_-]{40,})"),
    head("dynatrace-token", &["dt0"], r"(dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64})"),
    near("datadog-key", &["datadog", "dd_api", "dd-api", "dd_app", "dd-application"], r"([0-9a-f]{40}|[0-9a-f]{32})"),
    head("honeycomb-key", &["hcaik_", "hcbik_"], r"(hc[ab]ik_[a-z0-9]{58})"),
    head("posthog-key", &["phx_"], r"(phx_[A-Za-z0-9]{40,})"),
    near("okta-token", &["okta", "ssws"], r"(00[A-Za-z0-9_-]{39,41})"),
    loose("launchdarkly-key", &["sdk-", "api-"], r"((?:sdk|api)-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"),

    // Forms that many share.
    head("jwt", &["eyJ"], r"(eyJ[A-Za-z0-9_-]{10,}\.(?:eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}|[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}))"),
    after("url-password", &["://"], r#"[^\s/:@"'`<>\[\]{}()]{0,128}:([^\s/@"'`<>]{3,512})@[A-Za-z0-9\[_$%{]"#).with(Check::Address),
    after("bearer-token", &["bearer"], r"(?:[ \t]{1,4}|%20|\+)([A-Za-z0-9_.~+/-]{10,}={0,2})").with(Check::Mixed),
    after("basic-auth", &["basic"], r"[ \t]{1,4}([A-Za-z0-9+/_-]{8,}={0,2})").with(Check::Pair),
    after("authorization", &["authorization", "x-auth"], r#"\\{0,3}["'`]?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,3}["'`]?(?:[A-Za-z]{3,16}[ \t]{1,4})?(?:(?:token|key|api_?key)=)?["']?([A-Za-z0-9_.~+/-]{16,}={0,2})"#).with(Check::Mixed),
    after("netrc-password", &["login "], r"[ \t]{0,4}\S{1,128}[ \t]{1,4}password[ \t]{1,4}(\S{6,256})").with(Check::Password),
    after("netrc-password", &["password"], r"[ \t]{1,4}(\S{6,256})[ \t\r]{0,4}$").with(Check::LineStart),
    after("flag-password", &["--password", "--passwd", "--passphrase", "--pass", "--pwd", "--http-password", "--ftp-password", "--proxy-password", "--db-password", "--admin-password"], r#"(?:[ \t]{1,4}|=|["'],[ \t]{0,4})\\{0,3}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    // Flags of one letter mean a password after these programs only.
    after("flag-password", &["mysql", "mariadb"], r#"[^\n|;&]{0,200}?[ \t]-p["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["redis-cli", "valkey-cli"], r#"[^\n|;&]{0,200}?[ \t]-a[ \t]{1,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["sshpass"], r#"[ \t]{1,4}-p[ \t]{0,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["docker login", "podman login", "nerdctl login", "skopeo login", "buildah login", "oras login", "registry login", "az login", "oc login", "mongosh", "mongodump", "mongorestore"], r#"[^\n|;&]{0,200}?[ \t]-p[ \t]{1,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"], r#"[^\n|;&]{0,200}?[ \t]-w[ \t]{1,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["htpasswd"], r#"(?:[ \t]{1,4}-[A-Za-z]{1,8}){0,4}?[ \t]{1,4}-[A-Za-z]{0,8}b[A-Za-z]{0,8}(?:[ \t]{1,4}-[A-Za-z]{1,8}|[ \t]{1,4}[0-9]{1,2}){0,4}(?:[ \t]{1,4}[^\s-][^\s]{0,128}){1,2}[ \t]{1,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["-passin", "-passout", "-pass"], r#"[ \t]{1,4}["']?pass:([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["openssl enc"], r#"[^\n|;&]{0,200}?[ \t]-k[ \t]{1,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    after("flag-password", &["-storepass", "-keypass", "-srcstorepass", "-deststorepass"], r#"[ \t]{1,4}["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    // A property of a program's, as java and cmake take it.
    loose("flag-password", &["-D"], r#"-D[A-Za-z0-9_.\-]{0,64}(?i:pass(?:word|phrase|wd)?|pwd|secret|token|api[_.-]?key)=["']?([^\s"'`<>|;\\]{6,256})"#).with(Check::Given),
    // Variables in the capitals of a shell's line or of a file of settings.
    loose("variable-password", &["PASSWORD=", "PASSWD=", "PASSPHRASE=", "_PASS=", "_PWD=", "SSHPASS=", "REDISCLI_AUTH="], r#"(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|SSHPASS|REDISCLI_AUTH)=["']?([^\s"'`<>|;&\\]{6,256})"#).with(Check::Given),
    after("flag-token", &["--token", "--api-key", "--apikey", "--api-token", "--secret", "--secret-key", "--access-token", "--access-key", "--auth-token", "--client-secret"], r#"[ \t]{1,4}\\{0,3}["']?([^\s"'`<>|;&\\]{12,512})"#).with(Check::Token),
    after("flag-user", &["curl"], r#"[^\n|;&]{0,400}?[ \t](?:-[A-Za-z]{0,6}[uU]|--user|--proxy-user)[ =]?["']?[^\s:"'/]{1,64}:([^\s"'`@]{6,256})"#).with(Check::Given),
    after("flag-user", &[" --user", " -u"], r#"[ =]["']?[^\s:"'/]{1,64}:([^\s"'`@]{6,256})"#).with(Check::Password),
    kind("password", &["password", "passwd", "passphrase", "passcode", "pwd", "pass", "_pw"], Place::Assigned, "").with(Check::Password),
    kind("credential", &["secret", "token", "apikey", "api_key", "api-key", "api key", "access_key", "accesskey", "access-key", "private_key", "privatekey", "private-key", "encryption_key", "encryptionkey", "signing_key", "signingkey", "master_key", "masterkey", "account_key", "shared_key", "sharedkey", "auth_key", "authkey", "service_key", "credential", "auth"], Place::Assigned, "").with(Check::Token),
];

/// The words in the names that credentials are assigned to.
pub(super) fn assigned_words() -> impl Iterator<Item = &'static str> {
    let assigned = KINDS.iter().filter(|kind| kind.place == Place::Assigned);
    assigned.flat_map(|kind| kind.words.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::RegexBuilder;
    use std::collections::BTreeSet;

    #[test]
    fn every_pattern_compiles_and_has_one_group() {
        for kind in KINDS.iter().filter(|kind| !kind.pattern.is_empty()) {
            let regex = RegexBuilder::new(&kind.source()).unicode(false).build();
            assert_eq!(regex.unwrap().captures_len(), 2, "{}", kind.name);
        }
    }

    #[test]
    fn no_word_is_empty_or_spans_lines() {
        for kind in KINDS {
            assert!(!kind.words.is_empty(), "{}", kind.name);
            assert!(kind.words.iter().all(|word| !word.is_empty() && !word.contains('\n')), "{}", kind.name);
            if !kind.is_exact() {
                assert!(kind.words.iter().all(|word| *word == word.to_ascii_lowercase()), "{}", kind.name);
            }
        }
    }

    #[test]
    fn a_way_back_stays_within_its_bound() {
        for kind in KINDS {
            if let Place::Around(back) = kind.place {
                assert!(back <= BACK_MAX_BYTES, "{}", kind.name);
            }
        }
    }

    #[test]
    fn a_name_fits_into_a_placeholder() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert!(names.len() >= 45, "{}", names.len());
        for name in names {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        }
    }
}

//! Pages of the error codes.

/// Lists the pages of the codes, with their texts.
macro_rules! pages {
    ($($code:literal)*) => {
        &[$(($code, include_str!(concat!("../errors/", $code, ".md")))),*]
    };
}

/// Codes and pages, in ascending order of the codes. `cargo xtask tidy` compares the list with the folder `errors`.
static PAGES: &[(&str, &str)] = pages![
    "A0001" "A0002" "A0003" "A0004" "A0005" "A0006" "A0007" "A0008" "A0009" "A0010"
    "A0011" "A0012" "A0013" "A0014" "A0015" "A0016" "A0017" "A0018" "A0019" "A0020"
    "A0021" "A0022" "A0025" "A0026" "A0027" "A0028" "A0030" "A0031" "A0032" "A0033"
    "A0040" "A0041" "A0042" "A0043" "A0044" "A0045" "A0046" "A0047" "A0048" "A0049"
    "A0050" "A0051" "A0052" "A0053" "A0054" "A0055" "A0056" "A0057" "A0058" "A0059"
    "A0060" "A0061" "A0062" "A0063" "A0064" "A0065" "A0066" "A0067" "A0068" "A0069"
    "A0070" "A0071" "A0072" "A0073" "A0074" "A0075" "A0076" "A0077" "A0078" "A0079"
    "A0080" "A0081" "A0082" "A0083" "A0084" "A0085" "A0086" "A0087" "A0088" "A0089"
    "A0090" "A0092" "A0093" "A0094" "A0096" "A0097" "A0098" "A0100" "A0101" "A0102"
    "A0103" "A0104" "A0105" "A0106" "A0107" "A0108" "A0109" "A0110" "A0111" "A0112"
    "A0113" "A0114" "A0115" "A0116" "A0117" "A0118" "A0120" "A0121" "A0122" "A0123"
    "A0124" "A0125" "A0126" "A0127" "A0128" "A0129" "A0130" "A0131" "A0132" "A0133"
    "A0134" "A0135" "A0136" "A0137" "A0140" "A0141" "A0142" "A0143" "A0144" "A0145"
    "A0147" "A0148" "A0150" "A0151" "A0154" "A0158" "A0160" "A0166" "A0167"
    "A0168" "A0169" "A0170" "A0171" "A0180" "A0181" "A0182" "A0183" "A0184" "A0200"
    "A0201" "A0202" "A0203" "A0204" "A0205" "A0210" "A0211" "A0212" "A0220" "A0221"
    "A0222" "A0223" "A0224" "A0225" "A0226" "A0227" "A0228" "A0229" "A0230" "A0231"
    "A0232" "A0240" "A0241" "A0242" "A0243" "A0250" "A0251" "A0252" "A0260" "A0261"
    "A0262" "A0263" "A0264" "A0265" "A0266" "A0267" "A0268" "A0269" "A0270" "A0271"
    "A0272" "A0273" "A0274" "A0275"
];

/// Returns the page of an error code, as Markdown, or `None` if the code does not exist.
///
/// Messages of ancho begin with a code: an `A` and four digits. Its page describes the cause and the fix, with an example. The
/// pages are compiled into programs that call this function, about 200 KB.
///
/// # Examples
///
/// ```
/// let page = ancho::explain("A0050").unwrap();
/// assert!(page.starts_with("# A0050: entity does not exist\n"));
///
/// assert_eq!(ancho::explain("A9999"), None);
/// ```
#[must_use]
pub fn explain(code: &str) -> Option<&'static str> {
    let index = PAGES.binary_search_by_key(&code, |(code, _)| code).ok()?;
    Some(PAGES[index].1)
}

//! Comparison of the state that does not belong to entities: resources, messages, time and rates.

use ancho_entities::__inspect::{StateItem, StateItemValue, StateOwner};

use crate::divergence::Difference;
use crate::leaves;

/// Returns the first difference in the order of the owners: resources by their stable names, then the time.
pub(crate) fn first_difference(states: [&[StateItem]; 2]) -> Option<Difference> {
    let mut owners: Vec<&StateOwner> =
        states.iter().flat_map(|items| items.iter()).map(|item| &item.owner).collect();
    owners.sort();
    owners.dedup();
    owners.into_iter().find_map(|owner| {
        let value = |items: &'_ [StateItem]| items.iter().position(|item| item.owner == *owner);
        let values = [0, 1].map(|run| value(states[run]).map(|at| &states[run][at].value));
        if values[0] == values[1] { None } else { Some(difference(owner, values)) }
    })
}

fn difference(owner: &StateOwner, values: [Option<&StateItemValue>; 2]) -> Difference {
    let (field, values) = match values {
        [
            Some(StateItemValue::Fields { shape, stream }),
            Some(StateItemValue::Fields { stream: other, .. }),
        ] => {
            let part = leaves::first_difference(shape, false, [stream, other]);
            (part.path, part.values)
        }
        values => (String::new(), values.map(text)),
    };
    match owner {
        StateOwner::Resource(name) => {
            Difference::Resource { resource: (*name).to_owned(), field, values }
        }
        StateOwner::Messages(name) => Difference::Messages { message: (*name).to_owned() },
        owner => Difference::Time { part: owner.to_string(), values },
    }
}

fn text(value: Option<&StateItemValue>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(StateItemValue::Text(text)) => text.clone(),
        Some(StateItemValue::Fields { .. }) => "present".to_owned(),
    }
}
